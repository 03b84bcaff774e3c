"""Rede 1, the smaller network of a published training-cost study: a reconstruction.

The study describes both of its networks as VGG-like (3x3 convolutions with activations, pooling,
then fully connected layers), but the figures with the exact layers are lost. Widths and depths
here are ours, so times compare with each other and not with the published ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.vgg import vgg_layers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_worker.networks.network import Layer


def layers(classes: int) -> Iterator[Layer]:
    """Four convolutions in two blocks, one hidden dense layer."""
    return vgg_layers(blocks=((32, 32), (64, 64)), hidden=(256,), classes=classes)
