"""ResNet-50, a bottleneck of three convolutions in each of sixteen blocks.

As in torchvision: 25,557,032 trained parameters with 1000 classes; see `resnet`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.resnet import resnet_layers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_worker.networks.network import Layer


def layers(classes: int) -> Iterator[Layer]:
    """Sixteen bottlenecks of three convolutions."""
    return resnet_layers((3, 4, 6, 3), classes, bottleneck=True)
