"""A network in JAX: a graph of operations on images of (height, width, channels)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any
from zlib import crc32

import jax
import numpy as np
from jax import lax, nn
from jax import numpy as jnp

from prumo_worker.networks import layer
from prumo_worker.networks.layer import Margin, cells_inside, margins
from prumo_worker.networks.network import IMAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prumo_worker.networks import Network
    from prumo_worker.networks.network import Node

Arrays = dict[str, jax.Array]


class Graph:
    """The walk over a network, which JAX follows once and compiles."""

    def __init__(self, network: Network) -> None:
        self._nodes = network.nodes
        self._outputs = (network.nodes[-1].name, *(head.layer for head in network.auxiliary))
        self.trained = [
            f"{node.name}.{part}" for node in network.nodes for part in node.weight_shapes
        ]
        self.state = [f"{node.name}.{part}" for node in network.nodes for part in node.state_shapes]

    def outputs(
        self, arrays: Arrays, images: jax.Array, *, training: bool, key: jax.Array | None = None
    ) -> tuple[list[jax.Array], Arrays]:
        """The class scores and those of the auxiliary heads, in fp32, and the state afterwards."""
        values = {IMAGE: images}
        state: Arrays = {}
        for node in self._nodes:
            parts = (*node.weight_shapes, *node.state_shapes)
            call = Call(
                [values[source] for source in node.inputs],
                {part: arrays[f"{node.name}.{part}"] for part in parts},
                training,
                key,
            )
            values[node.name], after = compute(node, call)
            state.update({f"{node.name}.{part}": array for part, array in after.items()})
        return [values[name].astype(jnp.float32) for name in self._outputs], state


@dataclass(frozen=True)
class Call:
    """What a node computes with."""

    values: Sequence[jax.Array]
    arrays: Mapping[str, jax.Array]
    training: bool
    key: jax.Array | None = None
    """Differs from step to step; without it nothing is dropped."""


def compute(node: Node, call: Call) -> tuple[jax.Array, Arrays]:
    """What a node gives for its inputs, and its state after that."""
    if isinstance(node.operation, layer.BatchNormalization):
        return _batch_normalization(node.operation, call)
    return _OPERATIONS[type(node.operation)](node, node.operation, call), {}


def _convolution(_: Node, operation: layer.Convolution, call: Call) -> jax.Array:
    (images,) = call.values
    result = lax.conv_general_dilated(
        images,
        call.arrays["weight"].astype(images.dtype),
        (operation.stride, operation.stride),
        [(margin, margin) for margin in layer.pair(operation.padding)],
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=operation.groups,
    )
    return _with_bias(result, call)


def _dense(_: Node, __: layer.Dense, call: Call) -> jax.Array:
    (vectors,) = call.values
    return _with_bias(vectors @ call.arrays["weight"].astype(vectors.dtype), call)


def _with_bias(result: jax.Array, call: Call) -> jax.Array:
    bias = call.arrays.get("bias")
    return result if bias is None else result + bias.astype(result.dtype)


def _padding(_: Node, operation: layer.Padding, call: Call) -> jax.Array:
    sides = ((operation.top, operation.bottom), (operation.left, operation.right))
    return jnp.pad(call.values[0], ((0, 0), *sides, (0, 0)))


def _max_pooling(node: Node, operation: layer.MaxPooling, call: Call) -> jax.Array:
    sides = margins(operation, node.input_shapes[0])
    return _pooled(call.values[0], operation, sides, -jnp.inf, lax.max)


def _average_pooling(node: Node, operation: layer.AveragePooling, call: Call) -> jax.Array:
    sides = margins(operation, node.input_shapes[0])
    sums = _pooled(call.values[0], operation, sides, 0.0, lax.add)
    inside = np.outer(*cells_inside(operation, node.input_shapes[0]))[..., None]
    return sums / inside.astype(sums.dtype)


def _pooled(
    images: jax.Array,
    operation: layer.MaxPooling | layer.AveragePooling,
    sides: tuple[Margin, Margin],
    outside: float,
    combine: Callable[..., jax.Array],
) -> jax.Array:
    window = (1, operation.kernel, operation.kernel, 1)
    strides = (1, operation.stride, operation.stride, 1)
    padding = ((0, 0), *sides, (0, 0))
    return lax.reduce_window(images, outside, combine, window, strides, padding)


def _response_normalization(
    _: Node, operation: layer.LocalResponseNormalization, call: Call
) -> jax.Array:
    """In fp32, as the sums of squares of other formats soon overflow."""
    images = call.values[0].astype(jnp.float32)
    reach = operation.size // 2
    window, padding = (1, 1, 1, operation.size), ((0, 0), (0, 0), (0, 0), (reach, reach))
    sums = lax.reduce_window(images**2, 0.0, lax.add, window, (1, 1, 1, 1), padding)
    scale = operation.k + operation.alpha / operation.size * sums
    return (images / scale**operation.beta).astype(call.values[0].dtype)


def _batch_normalization(
    operation: layer.BatchNormalization, call: Call
) -> tuple[jax.Array, Arrays]:
    """In fp32, the result in the format of the images."""
    images = call.values[0].astype(jnp.float32)
    old = {part: call.arrays[part] for part in ("mean", "variance")}
    used, state = old, old
    if call.training:
        used = {"mean": images.mean((0, 1, 2)), "variance": images.var((0, 1, 2))}
        kept = operation.momentum
        state = {
            part: kept * old[part] + (1 - kept) * lax.stop_gradient(used[part]) for part in old
        }
    scale = lax.rsqrt(used["variance"] + operation.epsilon) * call.arrays.get("weight", 1.0)
    result = (images - used["mean"]) * scale + call.arrays["bias"]
    return result.astype(call.values[0].dtype), state


def _dropout(node: Node, operation: layer.Dropout, call: Call) -> jax.Array:
    (values,) = call.values
    if call.key is None:
        return values
    # Every layer draws from a stream of its own, found by its name.
    key = jax.random.fold_in(call.key, crc32(node.name.encode()))
    kept = jax.random.bernoulli(key, 1 - operation.rate, values.shape)
    return jnp.where(kept, values / (1 - operation.rate), 0)


def _flatten(node: Node, _: layer.Flatten, call: Call) -> jax.Array:
    return call.values[0].reshape(-1, *node.output_shape)


def _clipped_rectifier(_: Node, operation: layer.ClippedRectifier, call: Call) -> jax.Array:
    return jnp.clip(call.values[0], 0.0, operation.limit)


_OPERATIONS: dict[type[layer.Operation], Callable[[Node, Any, Call], jax.Array]] = {
    layer.Convolution: _convolution,
    layer.Padding: _padding,
    layer.MaxPooling: _max_pooling,
    layer.AveragePooling: _average_pooling,
    layer.GlobalAveragePooling: lambda _, __, call: call.values[0].mean((1, 2)),
    layer.Flatten: _flatten,
    layer.Dense: _dense,
    layer.Rectifier: lambda _, __, call: nn.relu(call.values[0]),
    layer.ClippedRectifier: _clipped_rectifier,
    layer.Tanh: lambda _, __, call: jnp.tanh(call.values[0]),
    layer.Dropout: _dropout,
    layer.LocalResponseNormalization: _response_normalization,
    layer.Add: lambda _, __, call: reduce(lax.add, call.values),
    layer.Concatenate: lambda _, __, call: jnp.concatenate(call.values, axis=-1),
}
