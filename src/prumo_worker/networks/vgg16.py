"""VGG16, thirteen convolutions and three dense layers.

After Simonyan and Zisserman 2014: 138,357,544 parameters with 1000 classes on 224x224 images. The
first dense layer follows the size of the image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.vgg import vgg_layers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_worker.networks.network import Layer


def layers(classes: int) -> Iterator[Layer]:
    """Blocks of two, two, three, three and three convolutions."""
    blocks = ((64,) * 2, (128,) * 2, (256,) * 3, (512,) * 3, (512,) * 3)
    return vgg_layers(blocks, hidden=(4096, 4096), classes=classes, dropout=0.5)
