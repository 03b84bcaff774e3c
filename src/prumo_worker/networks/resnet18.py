"""ResNet-18, two 3x3 convolutions in each of eight blocks.

As in torchvision: 11,689,512 trained parameters with 1000 classes; see `resnet`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.resnet import resnet_layers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_worker.networks.network import Layer


def layers(classes: int) -> Iterator[Layer]:
    """Eight blocks of two convolutions."""
    return resnet_layers((2, 2, 2, 2), classes, bottleneck=False)
