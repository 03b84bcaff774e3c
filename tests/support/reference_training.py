"""Training with numpy alone: gradients by finite differences, optimizers by their formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from support import reference_network

if TYPE_CHECKING:
    from prumo_worker.networks import Network

    Arrays = dict[str, np.ndarray]

_STEP = 1e-5


def losses_of(
    network: Network,
    weights: Arrays,
    images: np.ndarray,
    labels: np.ndarray,
    *,
    steps: int,
    learning_rate: float | Sequence[float],
    optimizer: str = "sgd",
    momentum: float = 0.0,
    weight_decay: float = 0.0,
) -> list[float]:
    """The loss that each of these steps on one batch meets, in training mode without dropout.

    A learning rate for all steps, or one for each.
    """
    rates = learning_rate if isinstance(learning_rate, Sequence) else [learning_rate] * steps
    weights = {name: array.astype(np.float64) for name, array in weights.items()}
    trained = [f"{node.name}.{part}" for node in network.nodes for part in node.weight_shapes]
    first = {name: np.zeros_like(weights[name]) for name in trained}
    second = {name: np.zeros_like(weights[name]) for name in trained}
    losses = []
    for step in range(1, steps + 1):
        losses.append(_loss(network, weights, images, labels))
        for name, gradient in _gradients(network, weights, trained, images, labels).items():
            slope = gradient + weight_decay * weights[name]
            if optimizer == "adam":
                first[name] = 0.9 * first[name] + 0.1 * slope
                second[name] = 0.999 * second[name] + 0.001 * slope**2
                mean = first[name] / (1 - 0.9**step)
                square = second[name] / (1 - 0.999**step)
                weights[name] = weights[name] - rates[step - 1] * mean / (np.sqrt(square) + 1e-8)
            else:
                first[name] = momentum * first[name] + slope
                weights[name] = weights[name] - rates[step - 1] * first[name]
    return losses


def _loss(network: Network, weights: Arrays, images: np.ndarray, labels: np.ndarray) -> float:
    values = reference_network.outputs(network, weights, images, training=True)
    loss = reference_network.cross_entropy(values[network.nodes[-1].name], labels)
    for head, weight in network.auxiliary.items():
        loss += weight * reference_network.cross_entropy(values[head], labels)
    return loss


def _gradients(
    network: Network, weights: Arrays, trained: list[str], images: np.ndarray, labels: np.ndarray
) -> Arrays:
    gradients = {}
    for name in trained:
        array = weights[name]
        gradient: np.ndarray = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            value = array[place]
            array[place] = value + _STEP
            above = _loss(network, weights, images, labels)
            array[place] = value - _STEP
            below = _loss(network, weights, images, labels)
            array[place] = value
            gradient[place] = (above - below) / (2 * _STEP)
        gradients[name] = gradient
    return gradients
