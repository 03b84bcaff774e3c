"""Rede 2, the deeper network of the study that Rede 1 comes from: a reconstruction as well.

Only "VGG-like, and more complex than Rede 1" is known of it; see `rede1`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.vgg import vgg_layers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_worker.networks.network import Layer


def layers(classes: int) -> Iterator[Layer]:
    """Seven convolutions in three blocks, two hidden dense layers."""
    blocks = ((32, 32), (64, 64), (128, 128, 128))
    return vgg_layers(blocks=blocks, hidden=(512, 512), classes=classes)
