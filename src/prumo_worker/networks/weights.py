"""Initial weights from a seed, the same numbers for every framework.

Arrays are float32 and named `layer.weight` and `layer.bias`; a batch normalisation also has its
running `layer.mean` and `layer.variance`. A convolution's weights are laid out
as (outputs, inputs of a group, height, width), a dense layer's as (outputs, inputs); a dense layer
after an image reads it channel by channel, row by row. A framework with another layout transposes.
"""

from __future__ import annotations

from math import prod, sqrt
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from prumo_worker.networks.layer import Shape
    from prumo_worker.networks.network import Network

_CHUNK = 1 << 20
# The parts of a batch normalisation that are one at first: its scale and its running variance.
_ONES = ("weight", "variance")


def initial_weights(network: Network, seed: int) -> dict[str, np.ndarray]:
    """He-normal weights and zero biases; a batch normalisation begins as the identity.

    Every layer draws from a stream of its own, found by its name, so that a layer keeps its
    weights when others are added around it.
    """
    weights: dict[str, np.ndarray] = {}
    for node in network.nodes:
        for part, shape in {**node.weight_shapes, **node.state_shapes}.items():
            name = f"{node.name}.{part}"
            if len(shape) > 1:
                weights[name] = _he_normal(shape, seed, name)
            elif part in _ONES:
                weights[name] = np.ones(shape, dtype=np.float32)
            else:
                weights[name] = np.zeros(shape, dtype=np.float32)
    return weights


def _he_normal(shape: Shape, seed: int, name: str) -> np.ndarray:
    """Normal numbers of variance 2 / fan-in, after He et al. 2015."""
    stream = np.random.SeedSequence(seed, spawn_key=(crc32(name.encode()),))
    generator = np.random.Generator(np.random.PCG64(stream))
    deviation = sqrt(2 / prod(shape[1:]))
    values: np.ndarray = np.empty(prod(shape), dtype=np.float32)
    # Drawn as float64, whose stream is the same in every numpy, and in chunks to spare memory.
    for start in range(0, values.size, _CHUNK):
        part = values[start : start + _CHUNK]
        part[:] = generator.standard_normal(part.size) * deviation
    return values.reshape(shape)
