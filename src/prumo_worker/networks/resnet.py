"""Residual networks, laid out as in torchvision.

After He et al. 2015. In a bottleneck the 3x3 convolution has the stride, not the 1x1 before it;
that is the variant known as version 1.5, and its padding is the same on all sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prumo_worker.networks.layer import (
    Add,
    BatchNormalization,
    Convolution,
    Dense,
    GlobalAveragePooling,
    MaxPooling,
    Rectifier,
)
from prumo_worker.networks.network import Layer

_NORM = BatchNormalization(epsilon=1e-5, momentum=0.9)
_EXPANSION = 4


def resnet_layers(blocks: Sequence[int], classes: int, *, bottleneck: bool) -> Iterator[Layer]:
    """A 7x7 convolution and four stages of so many blocks, each half as large and twice as wide."""
    stem = Convolution(64, kernel=7, stride=2, padding=3, bias=False)
    yield from _normalised("conv1", stem)
    yield Layer("relu1", Rectifier())
    yield Layer("pool1", MaxPooling(kernel=3, stride=2, padding=1))
    source, channels = "pool1", 64
    for stage, count in enumerate(blocks, start=1):
        width = 64 * 2 ** (stage - 1)
        outputs = width * _EXPANSION if bottleneck else width
        for position in range(1, count + 1):
            name = f"stage{stage}_{position}"
            stride = 2 if stage > 1 and position == 1 else 1
            # Outputs, kernel and stride of one after the other.
            narrow = ((width, 1, 1), (width, 3, stride), (outputs, 1, 1))
            steps = narrow if bottleneck else ((width, 3, stride), (width, 3, 1))
            convolutions = [
                Convolution(number, kernel, stride=pace, padding=kernel // 2, bias=False)
                for number, kernel, pace in steps
            ]
            yield from _residual(name, source, convolutions)
            shortcut = source
            if stride > 1 or channels != outputs:
                shortcut = f"{name}_shortcut_bn"
                projection = Convolution(outputs, kernel=1, stride=stride, bias=False)
                yield from _normalised(f"{name}_shortcut", projection, (source,))
            yield Layer(f"{name}_add", Add(), (f"{name}_conv{len(convolutions)}_bn", shortcut))
            yield Layer(name, Rectifier())
            source, channels = name, outputs
    yield Layer("pool", GlobalAveragePooling())
    yield Layer("scores", Dense(classes))


def _residual(name: str, source: str, convolutions: Sequence[Convolution]) -> Iterator[Layer]:
    """Convolutions with a rectifier between each and the next."""
    for number, convolution in enumerate(convolutions, start=1):
        inputs = (source,) if number == 1 else ()
        yield from _normalised(f"{name}_conv{number}", convolution, inputs)
        if number < len(convolutions):
            yield Layer(f"{name}_relu{number}", Rectifier())


def _normalised(
    name: str, convolution: Convolution, inputs: tuple[str, ...] = ()
) -> Iterator[Layer]:
    yield Layer(name, convolution, inputs)
    yield Layer(f"{name}_bn", _NORM)


def resnet18(classes: int) -> Iterator[Layer]:
    """ResNet-18, two 3x3 convolutions in each of eight blocks.

    As in torchvision: 11,689,512 trained parameters with 1000 classes.
    """
    return resnet_layers((2, 2, 2, 2), classes, bottleneck=False)


def resnet50(classes: int) -> Iterator[Layer]:
    """ResNet-50, a bottleneck of three convolutions in each of sixteen blocks.

    As in torchvision: 25,557,032 trained parameters with 1000 classes.
    """
    return resnet_layers((3, 4, 6, 3), classes, bottleneck=True)
