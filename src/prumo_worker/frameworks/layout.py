"""Weights for frameworks that keep the channels of an image last.

The network's own layout (see `weights`) puts outputs first and reads images channel by channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.failure import Unavailable
from prumo_worker.networks.layer import Convolution, Dense, Flatten

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from prumo_worker.networks.layer import Shape
    from prumo_worker.networks.network import Network


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
