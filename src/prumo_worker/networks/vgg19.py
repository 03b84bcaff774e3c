"""VGG19, sixteen convolutions and three dense layers.

After Simonyan and Zisserman 2014: 143,667,240 parameters with 1000 classes on 224x224 images. The
first dense layer follows the size of the image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.vgg import vgg_layers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_worker.networks.network import Layer

BLOCKS = ((64,) * 2, (128,) * 2, (256,) * 4, (512,) * 4, (512,) * 4)


def layers(classes: int) -> Iterator[Layer]:
    """Blocks of two, two, four, four and four convolutions."""
    return vgg_layers(BLOCKS, hidden=(4096, 4096), classes=classes, dropout=0.5)
