"""MobileNet: convolutions split into depthwise and pointwise ones."""

from __future__ import annotations

from collections.abc import Iterator

from prumo_worker.networks.layer import (
    BatchNormalization,
    ClippedRectifier,
    Convolution,
    Dense,
    Dropout,
    GlobalAveragePooling,
    Padding,
)
from prumo_worker.networks.network import Layer

_STEM = 32
# Outputs and stride of each pair of convolutions.
_PAIRS = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *(((512, 1),) * 5),
    (1024, 2),
    (1024, 1),
)


def mobilenet(classes: int) -> Iterator[Layer]:
    """MobileNet v1 as in Keras, convolutions split into depthwise and pointwise ones.

    One convolution, thirteen pairs and a dense layer. After Howard et al. 2017: 4,253,864
    parameters with 1000 classes, the untrained state included. A convolution with stride 2 has its
    zeros below and to the right only.
    """
    yield from mobilenet_features()
    yield Layer("dropout", Dropout(0.001))
    yield Layer("scores", Dense(classes))


def mobilenet_features() -> Iterator[Layer]:
    """The network up to the mean of each of its 1024 channels."""
    yield Layer("conv1_pad", Padding(top=0, bottom=1, left=0, right=1))
    yield from _unit("conv1", Convolution(_STEM, kernel=3, stride=2, bias=False))
    channels = _STEM
    for number, (outputs, stride) in enumerate(_PAIRS, start=1):
        yield from _depthwise(f"depthwise{number}", channels, stride)
        yield from _unit(f"pointwise{number}", Convolution(outputs, kernel=1, bias=False))
        channels = outputs
    yield Layer("pool", GlobalAveragePooling())


def _depthwise(name: str, channels: int, stride: int) -> Iterator[Layer]:
    padding = 1 if stride == 1 else 0
    if stride > 1:
        yield Layer(f"{name}_pad", Padding(top=0, bottom=1, left=0, right=1))
    yield from _unit(
        name,
        Convolution(
            channels, kernel=3, stride=stride, padding=padding, groups=channels, bias=False
        ),
    )


def _unit(name: str, convolution: Convolution) -> Iterator[Layer]:
    yield Layer(name, convolution)
    yield Layer(f"{name}_bn", BatchNormalization())
    yield Layer(f"{name}_relu", ClippedRectifier())
