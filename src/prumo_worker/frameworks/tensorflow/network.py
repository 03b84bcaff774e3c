"""A network in TensorFlow: a graph of operations on images of (height, width, channels)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import tensorflow as tf

from prumo_worker.networks import layer
from prumo_worker.networks.layer import cells_inside, margins
from prumo_worker.networks.network import IMAGE
from prumo_worker.networks.weights import channels_last_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prumo_worker.networks import Network
    from prumo_worker.networks.layer import Shape
    from prumo_worker.networks.network import Node


class Graph:
    """The variables of a network; its outputs, asked for in a `tf.function`, become a graph."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._outputs = (network.nodes[-1].name, *(head.layer for head in network.auxiliary))
        self._arrays = {node.name: _variables(node) for node in network.nodes}
        variables = [array for arrays in self._arrays.values() for array in arrays.values()]
        self.trained = [variable for variable in variables if variable.trainable]
        self.parameters = sum(int(np.prod(variable.shape)) for variable in variables)

    def outputs(
        self, images: tf.Tensor, *, training: bool, seed: tf.Tensor | None = None
    ) -> list[tf.Tensor]:
        """The class scores, then those of the auxiliary heads, in fp32 for the softmax."""
        values = {IMAGE: images}
        for node in self._network.nodes:
            inputs = [values[source] for source in node.inputs]
            call = Call(inputs, self._arrays[node.name], training, seed)
            values[node.name] = compute(node, call)
        return [tf.cast(values[name], tf.float32) for name in self._outputs]

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy weights and state in, under the names of `initial_weights`."""
        turned = channels_last_weights(self._network, weights)
        for node, arrays in self._arrays.items():
            for part, variable in arrays.items():
                variable.assign(turned[f"{node}.{part}"])


def _variables(node: Node) -> dict[str, tf.Variable]:
    shapes = {**node.weight_shapes, **node.state_shapes}
    return {
        part: tf.Variable(tf.zeros(_turned(shape)), trainable=part in node.weight_shapes)
        for part, shape in shapes.items()
    }


def _turned(shape: Shape) -> Shape:
    """The shape of an array after `channels_last_weights`."""
    outputs, *inputs = shape
    # (outputs, inputs, height, width) → (height, width, inputs, outputs)
    return (*inputs[1:], *inputs[:1], outputs)


@dataclass(frozen=True)
class Call:
    """What a node computes with."""

    values: Sequence[tf.Tensor]
    arrays: Mapping[str, tf.Variable]
    training: bool
    seed: tf.Tensor | None = None
    """Two numbers that differ from step to step; without them nothing is dropped."""


def compute(node: Node, call: Call) -> tf.Tensor:
    """What a node gives for its inputs."""
    return _OPERATIONS[type(node.operation)](node, node.operation, call)


def _convolution(node: Node, operation: layer.Convolution, call: Call) -> tf.Tensor:
    (images,) = call.values
    weight = tf.cast(call.arrays["weight"], images.dtype)
    down, across = layer.pair(operation.padding)
    padding = [[0, 0], [down, down], [across, across], [0, 0]]
    if operation.groups == 1:
        result = tf.nn.conv2d(images, weight, operation.stride, padding)
    elif operation.groups == node.input_shapes[0][0]:
        result = _depthwise(images, weight, operation, padding)
    else:
        result = _grouped(images, weight, operation, padding)
    return _with_bias(result, call)


def _depthwise(
    images: tf.Tensor, weight: tf.Tensor, operation: layer.Convolution, padding: list[list[int]]
) -> tf.Tensor:
    """Padded beforehand if a bias follows.

    TensorFlow fuses the bias into the convolution, and its oneDNN kernel for both (in 2.14, on
    processors with AVX-512) ends the process when it meets explicit padding.
    """
    height, width, _, outputs = weight.shape
    channels = images.shape[-1]
    each = tf.reshape(weight, (height, width, channels, outputs // channels))
    strides = (1, operation.stride, operation.stride, 1)
    if operation.bias:
        return tf.nn.depthwise_conv2d(tf.pad(images, padding), each, strides, "VALID")
    return tf.nn.depthwise_conv2d(images, each, strides, padding)


def _grouped(
    images: tf.Tensor, weight: tf.Tensor, operation: layer.Convolution, padding: list[list[int]]
) -> tf.Tensor:
    """One convolution for each group: on the processor, TensorFlow has no gradient for groups."""
    split = partial(tf.split, num_or_size_splits=operation.groups, axis=-1)
    parts = [
        tf.nn.conv2d(part, kernel, operation.stride, padding)
        for part, kernel in zip(split(images), split(weight))
    ]
    return tf.concat(parts, axis=-1)


def _dense(_: Node, __: layer.Dense, call: Call) -> tf.Tensor:
    (vectors,) = call.values
    return _with_bias(tf.matmul(vectors, tf.cast(call.arrays["weight"], vectors.dtype)), call)


def _with_bias(result: tf.Tensor, call: Call) -> tf.Tensor:
    if "bias" not in call.arrays:
        return result
    return tf.nn.bias_add(result, tf.cast(call.arrays["bias"], result.dtype))


def _padding(_: Node, operation: layer.Padding, call: Call) -> tf.Tensor:
    sides = ((operation.top, operation.bottom), (operation.left, operation.right))
    return tf.pad(call.values[0], ((0, 0), *sides, (0, 0)))


def _max_pooling(node: Node, operation: layer.MaxPooling, call: Call) -> tf.Tensor:
    padding = ((0, 0), *margins(operation, node.input_shapes[0]), (0, 0))
    return tf.nn.max_pool2d(call.values[0], operation.kernel, operation.stride, padding)


def _average_pooling(node: Node, operation: layer.AveragePooling, call: Call) -> tf.Tensor:
    """TensorFlow's mean over whole windows, then raised where cells lie outside the image."""
    (images,) = call.values
    sides = margins(operation, node.input_shapes[0])
    if any(map(any, sides)):
        images = tf.pad(images, ((0, 0), *sides, (0, 0)))
    means = tf.nn.avg_pool2d(images, operation.kernel, operation.stride, "VALID")
    inside = np.outer(*cells_inside(operation, node.input_shapes[0]))[..., None]
    if (inside == operation.kernel**2).all():
        return means
    return means * tf.constant(operation.kernel**2 / inside, means.dtype)


def _response_normalization(
    _: Node, operation: layer.LocalResponseNormalization, call: Call
) -> tf.Tensor:
    """In fp32, because the processor has it in no other format."""
    normalized = tf.nn.local_response_normalization(
        tf.cast(call.values[0], tf.float32),
        depth_radius=operation.size // 2,
        bias=operation.k,
        alpha=operation.alpha / operation.size,
        beta=operation.beta,
    )
    return tf.cast(normalized, call.values[0].dtype)


def _batch_normalization(_: Node, operation: layer.BatchNormalization, call: Call) -> tf.Tensor:
    (images,) = call.values
    arrays = call.arrays
    normalized = tf.raw_ops.FusedBatchNormV3(
        x=images,
        scale=arrays["weight"] if operation.scale else tf.ones_like(arrays["bias"]),
        offset=arrays["bias"],
        mean=[] if call.training else arrays["mean"],
        variance=[] if call.training else arrays["variance"],
        epsilon=operation.epsilon,
        is_training=call.training,
    )
    if call.training:
        batch = {"mean": normalized.batch_mean, "variance": normalized.batch_variance}
        for part, value in batch.items():
            arrays[part].assign_sub((1 - operation.momentum) * (arrays[part] - value))
    return normalized.y


def _dropout(node: Node, operation: layer.Dropout, call: Call) -> tf.Tensor:
    if call.seed is None:
        return call.values[0]
    # Every layer draws from a stream of its own, found by its name.
    seed = call.seed + tf.constant([crc32(node.name.encode()), 0], call.seed.dtype)
    return tf.nn.experimental.stateless_dropout(call.values[0], operation.rate, seed)


def _flatten(node: Node, _: layer.Flatten, call: Call) -> tf.Tensor:
    return tf.reshape(call.values[0], (-1, *node.output_shape))


def _clipped_rectifier(_: Node, operation: layer.ClippedRectifier, call: Call) -> tf.Tensor:
    return tf.clip_by_value(call.values[0], 0.0, operation.limit)


_OPERATIONS: dict[type[layer.Operation], Callable[[Node, Any, Call], tf.Tensor]] = {
    layer.Convolution: _convolution,
    layer.Padding: _padding,
    layer.MaxPooling: _max_pooling,
    layer.AveragePooling: _average_pooling,
    layer.GlobalAveragePooling: lambda _, __, call: tf.reduce_mean(call.values[0], (1, 2)),
    layer.Flatten: _flatten,
    layer.Dense: _dense,
    layer.Rectifier: lambda _, __, call: tf.nn.relu(call.values[0]),
    layer.ClippedRectifier: _clipped_rectifier,
    layer.Tanh: lambda _, __, call: tf.tanh(call.values[0]),
    layer.Dropout: _dropout,
    layer.LocalResponseNormalization: _response_normalization,
    layer.BatchNormalization: _batch_normalization,
    layer.Add: lambda _, __, call: tf.add_n(call.values),
    layer.Concatenate: lambda _, __, call: tf.concat(call.values, axis=-1),
}
