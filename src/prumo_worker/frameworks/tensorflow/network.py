"""A network in TensorFlow: a graph of operations on images of (height, width, channels)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
import tensorflow as tf

from prumo_worker.networks import Network, layer
from prumo_worker.networks.layer import cells_inside, margins
from prumo_worker.networks.network import IMAGE, Node
from prumo_worker.networks.operation import Operation, Shape, pair
from prumo_worker.networks.weights import channels_last_weights


class Graph:
    """The variables of a network; its outputs, asked for in a `tf.function`, become a graph."""

    def __init__(self, network: Network) -> None:
        self._network = network
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
            call = Call(node, inputs[0], inputs, self._arrays[node.name], training, seed)
            values[node.name] = _OPERATIONS[type(node.operation)](node.operation, call)
        return [tf.cast(values[name], tf.float32) for name in self._network.heads]

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

    node: Node
    value: tf.Tensor
    """The first of its inputs, and mostly the only one."""
    values: Sequence[tf.Tensor]
    arrays: Mapping[str, tf.Variable]
    training: bool
    seed: tf.Tensor | None = None
    """Two numbers that differ from step to step; without them nothing is dropped."""


def _convolution(operation: layer.Convolution, call: Call) -> tf.Tensor:
    images = call.value
    weight = tf.cast(call.arrays["weight"], images.dtype)
    down, across = pair(operation.padding)
    padding = [[0, 0], [down, down], [across, across], [0, 0]]
    if operation.groups == 1:
        result = tf.nn.conv2d(images, weight, operation.stride, padding)
    elif operation.groups == call.node.input_shapes[0][0]:
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


def _dense(_: layer.Dense, call: Call) -> tf.Tensor:
    weight = tf.cast(call.arrays["weight"], call.value.dtype)
    return _with_bias(tf.matmul(call.value, weight), call)


def _with_bias(result: tf.Tensor, call: Call) -> tf.Tensor:
    if "bias" not in call.arrays:
        return result
    return tf.nn.bias_add(result, tf.cast(call.arrays["bias"], result.dtype))


def _max_pooling(operation: layer.MaxPooling, call: Call) -> tf.Tensor:
    padding = ((0, 0), *margins(operation, call.node.input_shapes[0]), (0, 0))
    return tf.nn.max_pool2d(call.value, operation.kernel, operation.stride, padding)


def _average_pooling(operation: layer.AveragePooling, call: Call) -> tf.Tensor:
    """TensorFlow's mean over whole windows, then raised where cells lie outside the image."""
    images, shape = call.value, call.node.input_shapes[0]
    sides = margins(operation, shape)
    if any(map(any, sides)):
        images = tf.pad(images, ((0, 0), *sides, (0, 0)))
    means = tf.nn.avg_pool2d(images, operation.kernel, operation.stride, "VALID")
    inside = np.outer(*cells_inside(operation, shape))[..., None]
    if (inside == operation.kernel**2).all():
        return means
    return means * tf.constant(operation.kernel**2 / inside, means.dtype)


def _response_normalization(it: layer.LocalResponseNormalization, call: Call) -> tf.Tensor:
    """In fp32, because the processor has it in no other format."""
    normalized = tf.nn.local_response_normalization(
        tf.cast(call.value, tf.float32),
        depth_radius=it.size // 2,
        bias=it.k,
        alpha=it.alpha / it.size,
        beta=it.beta,
    )
    return tf.cast(normalized, call.value.dtype)


def _batch_normalization(operation: layer.BatchNormalization, call: Call) -> tf.Tensor:
    arrays = call.arrays
    normalized = tf.raw_ops.FusedBatchNormV3(
        x=call.value,
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


def _dropout(operation: layer.Dropout, call: Call) -> tf.Tensor:
    if call.seed is None:
        return call.value
    # Every layer draws from a stream of its own, found by its name.
    seed = call.seed + tf.constant([crc32(call.node.name.encode()), 0], call.seed.dtype)
    return tf.nn.experimental.stateless_dropout(call.value, operation.rate, seed)


def _padding(it: layer.Padding, call: Call) -> tf.Tensor:
    return tf.pad(call.value, ((0, 0), (it.top, it.bottom), (it.left, it.right), (0, 0)))


_OPERATIONS: dict[type[Operation], Callable[[Any, Call], tf.Tensor]] = {
    layer.Convolution: _convolution,
    layer.Padding: _padding,
    layer.MaxPooling: _max_pooling,
    layer.AveragePooling: _average_pooling,
    layer.GlobalAveragePooling: lambda _, call: tf.reduce_mean(call.value, (1, 2)),
    layer.Flatten: lambda _, call: tf.reshape(call.value, (-1, *call.node.output_shape)),
    layer.Dense: _dense,
    layer.Rectifier: lambda _, call: tf.nn.relu(call.value),
    layer.ClippedRectifier: lambda it, call: tf.clip_by_value(call.value, 0.0, it.limit),
    layer.Tanh: lambda _, call: tf.tanh(call.value),
    layer.Dropout: _dropout,
    layer.LocalResponseNormalization: _response_normalization,
    layer.BatchNormalization: _batch_normalization,
    layer.Add: lambda _, call: tf.add_n(call.values),
    layer.Concatenate: lambda _, call: tf.concat(call.values, axis=-1),
}
