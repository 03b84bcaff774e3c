"""A network computed with numpy alone, slowly and plainly, to compare frameworks with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from prumo_worker.networks import layer
from prumo_worker.networks.network import IMAGE

if TYPE_CHECKING:
    from prumo_worker.networks.network import Network, Node


def scores(network: Network, weights: dict[str, np.ndarray], images: np.ndarray) -> np.ndarray:
    """Class scores of a batch, in float64."""
    values: dict[str, np.ndarray] = {IMAGE: images.astype(np.float64)}
    for node in network.nodes:
        (name,) = node.inputs
        values[node.name] = _apply(node, weights, values[name])
    return values[network.nodes[-1].name]


def cross_entropy(class_scores: np.ndarray, labels: np.ndarray) -> float:
    """Mean negative log-likelihood of the right classes."""
    shifted = class_scores - class_scores.max(axis=1, keepdims=True)
    log_share = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return float(-log_share[np.arange(len(labels)), labels].mean())


def _apply(node: Node, weights: dict[str, np.ndarray], values: np.ndarray) -> np.ndarray:
    operation = node.operation
    result: np.ndarray
    if isinstance(operation, layer.Convolution):
        padding = (operation.padding, operation.padding)
        padded = np.pad(values, [(0, 0), (0, 0), padding, padding])
        windows = _windows(padded, operation.kernel, operation.stride)
        result = np.einsum("nchwij,ocij->nohw", windows, weights[f"{node.name}.weight"])
        result += weights[f"{node.name}.bias"][:, None, None]
    elif isinstance(operation, layer.Dense):
        result = values @ weights[f"{node.name}.weight"].T + weights[f"{node.name}.bias"]
    elif isinstance(operation, layer.MaxPooling):
        result = _windows(values, operation.kernel, operation.stride).max(axis=(4, 5))
    elif isinstance(operation, layer.AveragePooling):
        result = _windows(values, operation.kernel, operation.stride).mean(axis=(4, 5))
    elif isinstance(operation, layer.Rectifier):
        result = np.maximum(values, 0)
    elif isinstance(operation, layer.Tanh):
        result = np.tanh(values)
    else:
        assert isinstance(operation, layer.Flatten)
        result = values.reshape(len(values), -1)
    return result


def _windows(values: np.ndarray, kernel: int, stride: int) -> np.ndarray:
    windows: np.ndarray = sliding_window_view(values, (kernel, kernel), axis=(2, 3))
    return windows[:, :, ::stride, ::stride]
