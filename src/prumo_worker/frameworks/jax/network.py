"""A network in JAX: a graph of operations on images of (height, width, channels)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any
from zlib import crc32

import jax
import numpy as np
from jax import lax, nn
from jax import numpy as jnp

from prumo_worker.networks import Network, layer
from prumo_worker.networks.layer import cells_inside, margins
from prumo_worker.networks.network import IMAGE, Node
from prumo_worker.networks.operation import Operation, pair

Arrays = dict[str, jax.Array]


class Graph:
    """The walk over a network, which JAX follows once and compiles."""

    def __init__(self, network: Network) -> None:
        self._nodes = network.nodes
        self._outputs = tuple(network.heads)
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
            inputs = [values[source] for source in node.inputs]
            own = {part: arrays[f"{node.name}.{part}"] for part in parts}
            call = Call(node, inputs[0], inputs, own, training, key)
            if isinstance(node.operation, layer.BatchNormalization):
                values[node.name], after = _batch_normalization(node.operation, call)
                state.update({f"{node.name}.{part}": array for part, array in after.items()})
            else:
                values[node.name] = _OPERATIONS[type(node.operation)](node.operation, call)
        return [values[name].astype(jnp.float32) for name in self._outputs], state


@dataclass(frozen=True)
class Call:
    """What a node computes with."""

    node: Node
    value: jax.Array
    """The first of its inputs, and mostly the only one."""
    values: Sequence[jax.Array]
    arrays: Mapping[str, jax.Array]
    training: bool
    key: jax.Array | None = None
    """Differs from step to step; without it nothing is dropped."""


def _convolution(operation: layer.Convolution, call: Call) -> jax.Array:
    result = lax.conv_general_dilated(
        call.value,
        call.arrays["weight"].astype(call.value.dtype),
        (operation.stride, operation.stride),
        [(margin, margin) for margin in pair(operation.padding)],
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=operation.groups,
    )
    return _with_bias(result, call)


def _dense(_: layer.Dense, call: Call) -> jax.Array:
    return _with_bias(call.value @ call.arrays["weight"].astype(call.value.dtype), call)


def _with_bias(result: jax.Array, call: Call) -> jax.Array:
    bias = call.arrays.get("bias")
    return result if bias is None else result + bias.astype(result.dtype)


def _padding(it: layer.Padding, call: Call) -> jax.Array:
    return jnp.pad(call.value, ((0, 0), (it.top, it.bottom), (it.left, it.right), (0, 0)))


def _average_pooling(operation: layer.AveragePooling, call: Call) -> jax.Array:
    sums = _pooled(operation, call, 0.0, lax.add)
    inside = np.outer(*cells_inside(operation, call.node.input_shapes[0]))[..., None]
    return sums / inside.astype(sums.dtype)


def _pooled(
    operation: layer.Pooling, call: Call, outside: float, combine: Callable[..., jax.Array]
) -> jax.Array:
    window = (1, operation.kernel, operation.kernel, 1)
    strides = (1, operation.stride, operation.stride, 1)
    padding = ((0, 0), *margins(operation, call.node.input_shapes[0]), (0, 0))
    return lax.reduce_window(call.value, outside, combine, window, strides, padding)


def _response_normalization(it: layer.LocalResponseNormalization, call: Call) -> jax.Array:
    """In fp32, as the sums of squares of other formats soon overflow."""
    images = call.value.astype(jnp.float32)
    window, padding = (1, 1, 1, it.size), ((0, 0), (0, 0), (0, 0), (it.size // 2, it.size // 2))
    sums = lax.reduce_window(images**2, 0.0, lax.add, window, (1, 1, 1, 1), padding)
    scale = it.k + it.alpha / it.size * sums
    return (images / scale**it.beta).astype(call.value.dtype)


def _batch_normalization(
    operation: layer.BatchNormalization, call: Call
) -> tuple[jax.Array, Arrays]:
    """In fp32, the result in the format of the images."""
    images = call.value.astype(jnp.float32)
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
    return result.astype(call.value.dtype), state


def _dropout(operation: layer.Dropout, call: Call) -> jax.Array:
    if call.key is None:
        return call.value
    # Every layer draws from a stream of its own, found by its name.
    key = jax.random.fold_in(call.key, crc32(call.node.name.encode()))
    kept = jax.random.bernoulli(key, 1 - operation.rate, call.value.shape)
    return jnp.where(kept, call.value / (1 - operation.rate), 0)


_OPERATIONS: dict[type[Operation], Callable[[Any, Call], jax.Array]] = {
    layer.Convolution: _convolution,
    layer.Padding: _padding,
    layer.MaxPooling: lambda it, call: _pooled(it, call, -jnp.inf, lax.max),
    layer.AveragePooling: _average_pooling,
    layer.GlobalAveragePooling: lambda _, call: call.value.mean((1, 2)),
    layer.Flatten: lambda _, call: call.value.reshape(-1, *call.node.output_shape),
    layer.Dense: _dense,
    layer.Rectifier: lambda _, call: nn.relu(call.value),
    layer.ClippedRectifier: lambda it, call: jnp.clip(call.value, 0.0, it.limit),
    layer.Tanh: lambda _, call: jnp.tanh(call.value),
    layer.Dropout: _dropout,
    layer.LocalResponseNormalization: _response_normalization,
    layer.Add: lambda _, call: reduce(lax.add, call.values),
    layer.Concatenate: lambda _, call: jnp.concatenate(call.values, axis=-1),
}
