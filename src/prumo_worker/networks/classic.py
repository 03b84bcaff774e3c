"""Networks that are one layer after the other: LeNet-5, AlexNet, VGG and two small relatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prumo_worker.networks.layer import (
    AveragePooling,
    Convolution,
    Dense,
    Dropout,
    Flatten,
    LocalResponseNormalization,
    MaxPooling,
    Rectifier,
    Tanh,
)
from prumo_worker.networks.network import Layer


def lenet5(classes: int) -> Iterator[Layer]:
    """LeNet-5 after LeCun et al. 1998, with the simplifications that are customary today.

    Two convolutions and three dense layers. The second convolution sees all channels, the pooling
    has no weights of its own and the output is a dense layer instead of radial basis functions.
    Padding 2 gives 28x28 images the paper's 32x32.
    """
    yield Layer("conv1", Convolution(6, kernel=5, padding=2))
    yield Layer("tanh1", Tanh())
    yield Layer("pool1", AveragePooling(kernel=2, stride=2))
    yield Layer("conv2", Convolution(16, kernel=5))
    yield Layer("tanh2", Tanh())
    yield Layer("pool2", AveragePooling(kernel=2, stride=2))
    yield Layer("flatten", Flatten())
    yield Layer("dense1", Dense(120))
    yield Layer("tanh3", Tanh())
    yield Layer("dense2", Dense(84))
    yield Layer("tanh4", Tanh())
    yield Layer("scores", Dense(classes))


_NORM = LocalResponseNormalization(size=5, alpha=1e-4, beta=0.75)
_POOL = MaxPooling(kernel=3, stride=2, ceil=True)


def alexnet(classes: int) -> Iterator[Layer]:
    """AlexNet as Caffe publishes it, in two groups and with local response normalisation.

    Five convolutions and three dense layers. After Krizhevsky et al. 2012 and Caffe's
    `bvlc_alexnet`: 60,965,224 parameters with 1000 classes on 227x227 images. The convolutions with
    two groups were made for two GPUs.
    """
    yield Layer("conv1", Convolution(96, kernel=11, stride=4))
    yield Layer("relu1", Rectifier())
    yield Layer("norm1", _NORM)
    yield Layer("pool1", _POOL)
    yield Layer("conv2", Convolution(256, kernel=5, padding=2, groups=2))
    yield Layer("relu2", Rectifier())
    yield Layer("norm2", _NORM)
    yield Layer("pool2", _POOL)
    yield Layer("conv3", Convolution(384, kernel=3, padding=1))
    yield Layer("relu3", Rectifier())
    yield Layer("conv4", Convolution(384, kernel=3, padding=1, groups=2))
    yield Layer("relu4", Rectifier())
    yield Layer("conv5", Convolution(256, kernel=3, padding=1, groups=2))
    yield Layer("relu5", Rectifier())
    yield Layer("pool5", _POOL)
    yield Layer("flatten", Flatten())
    for number in (6, 7):
        yield Layer(f"fc{number}", Dense(4096))
        yield Layer(f"relu{number}", Rectifier())
        yield Layer(f"drop{number}", Dropout(0.5))
    yield Layer("fc8", Dense(classes))


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
