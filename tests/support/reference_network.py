"""A network computed with numpy alone, slowly and plainly, to compare frameworks with."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from prumo_worker.networks import layer
from prumo_worker.networks.network import IMAGE
from prumo_worker.networks.operation import Operation, pair

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prumo_worker.networks.network import Network, Node

Arrays = dict[str, np.ndarray]


def scores(network: Network, weights: Mapping[str, np.ndarray], images: np.ndarray) -> np.ndarray:
    """Class scores of a batch in float64, batch normalisation by its running state."""
    return outputs(network, weights, images)[network.nodes[-1].name]


def outputs(
    network: Network,
    weights: Mapping[str, np.ndarray],
    images: np.ndarray,
    *,
    training: bool = False,
) -> Arrays:
    """What each layer gives; dropout is off, and training normalises by the batch."""
    values: Arrays = {IMAGE: images.astype(np.float64)}
    for node in network.nodes:
        arrays = _arrays(node, weights)
        inputs = [values[name] for name in node.inputs]
        if training and isinstance(node.operation, layer.BatchNormalization):
            arrays |= _statistics(*inputs)
        values[node.name] = _COMPUTE[type(node.operation)](node.operation, arrays, *inputs)
    return values


def cross_entropy(class_scores: np.ndarray, labels: np.ndarray) -> float:
    """Mean negative log-likelihood of the right classes."""
    shifted = class_scores - class_scores.max(axis=1, keepdims=True)
    log_share = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return float(-log_share[np.arange(len(labels)), labels].mean())


def _arrays(node: Node, weights: Mapping[str, np.ndarray]) -> Arrays:
    names = [*node.weight_shapes, *node.state_shapes]
    return {name: weights[f"{node.name}.{name}"].astype(np.float64) for name in names}


def _statistics(images: np.ndarray) -> Arrays:
    return {"mean": images.mean(axis=(0, 2, 3)), "variance": images.var(axis=(0, 2, 3))}


def _convolution(operation: layer.Convolution, arrays: Arrays, images: np.ndarray) -> np.ndarray:
    down, across = pair(operation.padding)
    padded = np.pad(images, [(0, 0), (0, 0), (down, down), (across, across)])
    windows = _windows(padded, pair(operation.kernel), operation.stride)
    groups = zip(
        np.split(windows, operation.groups, axis=1),
        np.split(arrays["weight"], operation.groups),
        strict=True,
    )
    # Summed over the channels of a group and the cells of a window.
    parts = [np.tensordot(seen, weight, ([1, 4, 5], [1, 2, 3])) for seen, weight in groups]
    result: np.ndarray = np.concatenate(parts, axis=3) + arrays.get("bias", 0)
    return result.transpose(0, 3, 1, 2)


def _padding(operation: layer.Padding, _: Arrays, images: np.ndarray) -> np.ndarray:
    margins = [(operation.top, operation.bottom), (operation.left, operation.right)]
    return np.pad(images, [(0, 0), (0, 0), *margins])


def _max_pooling(operation: layer.MaxPooling, _: Arrays, images: np.ndarray) -> np.ndarray:
    largest: np.ndarray = np.nanmax(_pooled(operation, images), axis=(4, 5))
    return largest


def _average_pooling(operation: layer.AveragePooling, _: Arrays, images: np.ndarray) -> np.ndarray:
    mean: np.ndarray = np.nanmean(_pooled(operation, images), axis=(4, 5))
    return mean


def _pooled(operation: Any, images: np.ndarray) -> np.ndarray:
    """The windows of a pooling, not a number where they look past the image."""
    _, height, width = operation.output_shape(images.shape[1:])
    near, kernel, stride = operation.padding, operation.kernel, operation.stride
    far = [
        max((count - 1) * stride + kernel - near - side, 0)
        for count, side in ((height, images.shape[2]), (width, images.shape[3]))
    ]
    margins = [(0, 0), (0, 0), (near, far[0]), (near, far[1])]
    padded = np.pad(images, margins, constant_values=np.nan)
    return _windows(padded, (kernel, kernel), stride)[:, :, :height, :width]


def _dense(_: layer.Dense, arrays: Arrays, values: np.ndarray) -> np.ndarray:
    result: np.ndarray = values @ arrays["weight"].T + arrays.get("bias", 0)
    return result


def _local_response(
    operation: layer.LocalResponseNormalization, _: Arrays, images: np.ndarray
) -> np.ndarray:
    side = operation.size // 2
    squares = np.pad(images**2, [(0, 0), (side, side), (0, 0), (0, 0)])
    sums = sliding_window_view(squares, operation.size, axis=1).sum(axis=-1)
    scale: np.ndarray = operation.k + operation.alpha / operation.size * sums
    return images / scale**operation.beta


def _batch_normalization(
    operation: layer.BatchNormalization, arrays: Arrays, images: np.ndarray
) -> np.ndarray:
    by_channel = {name: array[:, None, None] for name, array in arrays.items()}
    deviation = np.sqrt(by_channel["variance"] + operation.epsilon)
    normal = (images - by_channel["mean"]) / deviation
    result: np.ndarray = normal * by_channel.get("weight", 1) + by_channel["bias"]
    return result


def _windows(values: np.ndarray, kernel: tuple[int, int], stride: int) -> np.ndarray:
    windows: np.ndarray = sliding_window_view(values, kernel, axis=(2, 3))
    return windows[:, :, ::stride, ::stride]


_COMPUTE: dict[type[Operation], Callable[..., np.ndarray]] = {
    layer.Convolution: _convolution,
    layer.Padding: _padding,
    layer.MaxPooling: _max_pooling,
    layer.AveragePooling: _average_pooling,
    layer.GlobalAveragePooling: lambda _, __, images: images.mean(axis=(2, 3)),
    layer.Flatten: lambda _, __, images: images.reshape(len(images), -1),
    layer.Dense: _dense,
    layer.Rectifier: lambda _, __, values: np.maximum(values, 0),
    layer.ClippedRectifier: lambda clip, _, values: np.clip(values, 0, clip.limit),
    layer.Tanh: lambda _, __, values: np.tanh(values),
    layer.Dropout: lambda _, __, values: values,
    layer.LocalResponseNormalization: _local_response,
    layer.BatchNormalization: _batch_normalization,
    layer.Add: lambda _, __, *values: reduce(np.add, values),
    layer.Concatenate: lambda _, __, *images: np.concatenate(images, axis=1),
}
