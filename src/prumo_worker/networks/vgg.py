"""Networks of the VGG pattern: blocks of 3x3 convolutions, then dense layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.layer import Convolution, Dense, Dropout, Flatten, MaxPooling, Rectifier
from prumo_worker.networks.network import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def vgg_layers(
    blocks: Sequence[Sequence[int]], hidden: Sequence[int], classes: int, dropout: float = 0.0
) -> Iterator[Layer]:
    """The convolutions, then dense layers of the given widths, each with dropout if any."""
    yield from vgg_convolutions(blocks)
    yield Layer("flatten", Flatten())
    for position, width in enumerate(hidden, start=1):
        yield Layer(f"dense{position}", Dense(width))
        yield Layer(f"dense_relu{position}", Rectifier())
        if dropout:
            yield Layer(f"dropout{position}", Dropout(dropout))
    yield Layer("scores", Dense(classes))


def vgg_convolutions(blocks: Sequence[Sequence[int]]) -> Iterator[Layer]:
    """3x3 convolutions of the given widths, a 2x2 pooling after each block."""
    for block, widths in enumerate(blocks, start=1):
        for position, width in enumerate(widths, start=1):
            yield Layer(f"conv{block}_{position}", Convolution(width, kernel=3, padding=1))
            yield Layer(f"relu{block}_{position}", Rectifier())
        yield Layer(f"pool{block}", MaxPooling(kernel=2, stride=2))


def vgg16(classes: int) -> Iterator[Layer]:
    """VGG16, thirteen convolutions and three dense layers.

    Blocks of two, two, three, three and three convolutions. After Simonyan and Zisserman 2014:
    138,357,544 parameters with 1000 classes on 224x224 images. The first dense layer follows the
    size of the image.
    """
    blocks = ((64,) * 2, (128,) * 2, (256,) * 3, (512,) * 3, (512,) * 3)
    return vgg_layers(blocks, hidden=(4096, 4096), classes=classes, dropout=0.5)


VGG19_BLOCKS = ((64,) * 2, (128,) * 2, (256,) * 4, (512,) * 4, (512,) * 4)


def vgg19(classes: int) -> Iterator[Layer]:
    """VGG19, sixteen convolutions and three dense layers.

    Blocks of two, two, four, four and four convolutions. After Simonyan and Zisserman 2014:
    143,667,240 parameters with 1000 classes on 224x224 images. The first dense layer follows the
    size of the image.
    """
    return vgg_layers(VGG19_BLOCKS, hidden=(4096, 4096), classes=classes, dropout=0.5)


def rede1(classes: int) -> Iterator[Layer]:
    """Rede 1, the smaller network of a published training-cost study: a reconstruction.

    Four convolutions in two blocks, one hidden dense layer. The study describes both of its
    networks as VGG-like (3x3 convolutions with activations, pooling, then fully connected layers),
    but the figures with the exact layers are lost. Widths and depths here are ours, so times
    compare with each other and not with the published ones.
    """
    return vgg_layers(blocks=((32, 32), (64, 64)), hidden=(256,), classes=classes)


def rede2(classes: int) -> Iterator[Layer]:
    """Rede 2, the deeper network of the study that Rede 1 comes from: a reconstruction as well.

    Seven convolutions in three blocks, two hidden dense layers. Only "VGG-like, and more complex
    than Rede 1" is known of it; see `rede1`.
    """
    blocks = ((32, 32), (64, 64), (128, 128, 128))
    return vgg_layers(blocks=blocks, hidden=(512, 512), classes=classes)
