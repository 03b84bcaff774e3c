"""A network's weights: the same initial numbers for every framework, in the layout that it wants.

Arrays are float32 and named `layer.weight` and `layer.bias`; a batch normalisation also has its
running `layer.mean` and `layer.variance`. A convolution's weights are laid out
as (outputs, inputs of a group, height, width), a dense layer's as (outputs, inputs); a dense layer
after an image reads it channel by channel, row by row. `channels_last_weights` is
the layout of frameworks that keep the channels of an image last.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod, sqrt
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from prumo_worker.networks.layer import Convolution, Dense, Flatten
from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    from prumo_worker.networks.network import Network
    from prumo_worker.networks.operation import Shape


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
            else:
                weights[name] = np.full(shape, part in _ONES, dtype=np.float32)
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


def channels_last_weights(
    network: Network, weights: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The same arrays as views, for images of (height, width, channels).

    Convolutions become (height, width, inputs of a group, outputs), dense layers (inputs,
    outputs); behind a flattened image their inputs come in the order height, width, channel.
    """
    turned = dict(weights)
    images = _flattened_images(network)
    for node in network.nodes:
        name = f"{node.name}.weight"
        if isinstance(node.operation, Convolution):
            turned[name] = weights[name].transpose(2, 3, 1, 0)
        elif isinstance(node.operation, Dense):
            turned[name] = _dense(weights[name], images.get(node.inputs[0]))
    return turned


def _dense(weight: np.ndarray, image: Shape | None) -> np.ndarray:
    if image is None:
        return weight.T
    outputs, inputs = weight.shape
    return weight.reshape(outputs, *image).transpose(2, 3, 1, 0).reshape(inputs, outputs)


def _flattened_images(network: Network) -> dict[str, Shape]:
    """For each value that is a flattened image, the image's shape; activations keep its order."""
    images: dict[str, Shape] = {}
    for node in network.nodes:
        if isinstance(node.operation, Flatten):
            images[node.name] = node.input_shapes[0]
        elif not isinstance(node.operation, Dense):
            origins = {images.get(source) for source in node.inputs}
            if len(origins) > 1:
                raise Unavailable(
                    f"layer {node.name} joins a flattened image and another vector, whose orders "
                    "differ where channels come last"
                )
            (origin,) = origins
            if origin is not None:
                images[node.name] = origin
    return images
