"""AlexNet as Caffe publishes it, in two groups and with local response normalisation.

After Krizhevsky et al. 2012 and Caffe's `bvlc_alexnet`: 60,965,224 parameters with 1000 classes on
227x227 images. The convolutions with two groups were made for two GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.layer import (
    Convolution,
    Dense,
    Dropout,
    Flatten,
    LocalResponseNormalization,
    MaxPooling,
    Rectifier,
)
from prumo_worker.networks.network import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator

_NORM = LocalResponseNormalization(size=5, alpha=1e-4, beta=0.75)
_POOL = MaxPooling(kernel=3, stride=2, ceil=True)


def layers(classes: int) -> Iterator[Layer]:
    """Five convolutions and three dense layers."""
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
