"""The first networks that convolutions made known: LeNet-5 and AlexNet."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Iterator


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
