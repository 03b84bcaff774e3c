"""Networks of inception stages: GoogLeNet with and without auxiliary heads, and Inception v3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prumo_worker.networks.layer import (
    AveragePooling,
    BatchNormalization,
    Concatenate,
    Convolution,
    Dense,
    Dropout,
    Flatten,
    GlobalAveragePooling,
    LocalResponseNormalization,
    MaxPooling,
    Rectifier,
)
from prumo_worker.networks.network import Layer
from prumo_worker.networks.operation import Extent, Operation, pair

_NORM = LocalResponseNormalization(size=5, alpha=1e-4, beta=0.75)
_POOL = MaxPooling(kernel=3, stride=2, ceil=True)

# Widths of 1x1, of 3x3 and the 1x1 before it, of 5x5 and the 1x1 before it, of 1x1 after pooling.
_STAGES = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
_POOL_AFTER = ("3b", "4e")
_HEAD_AFTER = {"4a": "head1", "4d": "head2"}


def googlenet(classes: int) -> Iterator[Layer]:
    """GoogLeNet as Caffe publishes it, without its auxiliary heads.

    Three convolutions and nine inception stages. After Szegedy et al. 2014 and Caffe's
    `bvlc_googlenet`: 6,998,552 parameters with 1000 classes. The last pooling is over the whole
    image, which on 224x224 images is the published 7x7.
    """
    return googlenet_layers(classes, head_weight=0.0)


def googlenet_layers(classes: int, head_weight: float) -> Iterator[Layer]:
    """The network, with two auxiliary heads when their losses weigh anything."""
    yield from _rectified("conv1", Convolution(64, kernel=7, stride=2, padding=3))
    yield Layer("pool1", _POOL)
    yield Layer("norm1", _NORM)
    yield from _rectified("conv2_reduce", Convolution(64, kernel=1))
    yield from _rectified("conv2", Convolution(192, kernel=3, padding=1))
    yield Layer("norm2", _NORM)
    yield Layer("pool2", _POOL)
    source = "pool2"
    for stage, widths in _STAGES.items():
        yield from _inception(stage, widths, source)
        source = stage
        if stage in _HEAD_AFTER and head_weight:
            yield from _head(_HEAD_AFTER[stage], source, classes, head_weight)
        if stage in _POOL_AFTER:
            source = f"pool{stage[0]}"
            yield Layer(source, _POOL, (stage,))
    yield Layer("pool5", GlobalAveragePooling())
    yield Layer("drop", Dropout(0.4))
    yield Layer("scores", Dense(classes))


def _inception(stage: str, widths: tuple[int, ...], source: str) -> Iterator[Layer]:
    one, three_reduce, three, five_reduce, five, pooled = widths
    yield from _rectified(f"{stage}_1x1", Convolution(one, kernel=1), source)
    yield from _rectified(f"{stage}_3x3_reduce", Convolution(three_reduce, kernel=1), source)
    yield from _rectified(f"{stage}_3x3", Convolution(three, kernel=3, padding=1))
    yield from _rectified(f"{stage}_5x5_reduce", Convolution(five_reduce, kernel=1), source)
    yield from _rectified(f"{stage}_5x5", Convolution(five, kernel=5, padding=2))
    yield Layer(f"{stage}_pool", MaxPooling(kernel=3, stride=1, padding=1), (source,))
    yield from _rectified(f"{stage}_pool_proj", Convolution(pooled, kernel=1))
    branches = ("1x1", "3x3", "5x5", "pool_proj")
    yield Layer(stage, Concatenate(), tuple(f"{stage}_{branch}_relu" for branch in branches))


def _head(name: str, source: str, classes: int, weight: float) -> Iterator[Layer]:
    yield Layer(f"{name}_pool", AveragePooling(kernel=5, stride=3, ceil=True), (source,))
    yield from _rectified(f"{name}_conv", Convolution(128, kernel=1))
    yield Layer(f"{name}_flatten", Flatten())
    yield from _rectified(f"{name}_fc", Dense(1024))
    yield Layer(f"{name}_drop", Dropout(0.7))
    yield Layer(f"{name}_scores", Dense(classes), auxiliary=weight)


def _rectified(name: str, operation: Operation, source: str = "") -> Iterator[Layer]:
    yield Layer(name, operation, (source,) if source else ())
    yield Layer(f"{name}_relu", Rectifier())


def googlenet_aux(classes: int) -> Iterator[Layer]:
    """GoogLeNet with its two auxiliary heads, whose losses count 0.3 each in training.

    GoogLeNet and a head after each of the stages 4a and 4d. 13,378,280 parameters with 1000 classes
    on 224x224 images; the heads' dense layers follow the size.
    """
    return googlenet_layers(classes, head_weight=0.3)


Branch = tuple[tuple[int, Extent], ...]
"""Outputs and kernel of one convolution after the other."""

_HALVING = MaxPooling(kernel=3, stride=2)
_SMOOTHING = AveragePooling(kernel=3, stride=1, padding=1)
_ROW, _COLUMN = (1, 7), (7, 1)
_SHORT_ROW, _SHORT_COLUMN = (1, 3), (3, 1)


def inception_v3(classes: int) -> Iterator[Layer]:
    """Inception v3 as in Keras, without the auxiliary head.

    Five convolutions and eleven mixed stages, `mixed0` to `mixed10` as Keras counts them. After
    Szegedy et al. 2015: 23,851,784 parameters with 1000 classes, the untrained state included. Its
    own image size is 299; the smallest is 75.
    """
    yield from _stem()
    for number, pooled in enumerate((32, 64, 64)):
        yield from _mixed(number, _square_branches(pooled))
    yield from _halved(3, {"3x3": ((384, 3),), "double": ((64, 1), (96, 3), (96, 3))})
    for number, width in enumerate((128, 160, 160, 192), start=4):
        yield from _mixed(number, _long_branches(width))
    long = ((192, 1), (192, _ROW), (192, _COLUMN), (192, 3))
    yield from _halved(8, {"3x3": ((192, 1), (320, 3)), "7x7": long})
    for number in (9, 10):
        yield from _forked(number)
    yield Layer("pool", GlobalAveragePooling())
    yield Layer("scores", Dense(classes))


def _stem() -> Iterator[Layer]:
    yield from _unit("stem1", Convolution(32, kernel=3, stride=2, bias=False))
    yield from _unit("stem2", Convolution(32, kernel=3, bias=False))
    yield from _unit("stem3", Convolution(64, kernel=3, padding=1, bias=False))
    yield Layer("stem_pool1", _HALVING)
    yield from _unit("stem4", Convolution(80, kernel=1, bias=False))
    yield from _unit("stem5", Convolution(192, kernel=3, bias=False))
    yield Layer("stem_pool2", _HALVING)


def _square_branches(pooled: int) -> dict[str, Branch]:
    return {
        "1x1": ((64, 1),),
        "5x5": ((48, 1), (64, 5)),
        "double": ((64, 1), (96, 3), (96, 3)),
        "pool": ((pooled, 1),),
    }


def _long_branches(width: int) -> dict[str, Branch]:
    """7x7 convolutions, each as a row and a column."""
    twice = ((width, _COLUMN), (width, _ROW), (width, _COLUMN))
    return {
        "1x1": ((192, 1),),
        "7x7": ((width, 1), (width, _ROW), (192, _COLUMN)),
        "double": ((width, 1), *twice, (192, _ROW)),
        "pool": ((192, 1),),
    }


def _mixed(number: int, branches: Mapping[str, Branch]) -> Iterator[Layer]:
    """Branches that keep the size of the image; the one named `pool` begins with a pooling."""
    stage, source = f"mixed{number}", _before(number)
    for name, branch in branches.items():
        begin = source
        if name == "pool":
            begin = f"{stage}_smooth"
            yield Layer(begin, _SMOOTHING, (source,))
        yield from _chain(f"{stage}_{name}", begin, branch)
    ends = tuple(_end(f"{stage}_{name}", branch) for name, branch in branches.items())
    yield Layer(stage, Concatenate(), ends)


def _halved(number: int, branches: Mapping[str, Branch]) -> Iterator[Layer]:
    """Branches whose last convolution halves the image, beside a pooling that does."""
    stage, source = f"mixed{number}", _before(number)
    for name, branch in branches.items():
        yield from _chain(f"{stage}_{name}", source, branch, halving=True)
    yield Layer(f"{stage}_pool", _HALVING, (source,))
    ends = (_end(f"{stage}_{name}", branch) for name, branch in branches.items())
    yield Layer(stage, Concatenate(), (*ends, f"{stage}_pool"))


def _forked(number: int) -> Iterator[Layer]:
    """The widest stages: two branches end in a row and a column side by side."""
    stage, source = f"mixed{number}", _before(number)
    yield from _chain(f"{stage}_1x1", source, ((320, 1),))
    ends = [f"{stage}_1x1_1_relu"]
    for name, branch in {"3x3": ((384, 1),), "double": ((448, 1), (384, 3))}.items():
        trunk = f"{stage}_{name}"
        yield from _chain(trunk, source, branch)
        for tine, kernel in (("row", _SHORT_ROW), ("column", _SHORT_COLUMN)):
            yield from _chain(f"{trunk}_{tine}", _end(trunk, branch), ((384, kernel),))
            ends.append(f"{trunk}_{tine}_1_relu")
    yield Layer(f"{stage}_smooth", _SMOOTHING, (source,))
    yield from _chain(f"{stage}_pool", f"{stage}_smooth", ((192, 1),))
    yield Layer(stage, Concatenate(), (*ends, f"{stage}_pool_1_relu"))


def _before(number: int) -> str:
    return f"mixed{number - 1}" if number else "stem_pool2"


def _end(name: str, branch: Branch) -> str:
    return f"{name}_{len(branch)}_relu"


def _chain(name: str, source: str, branch: Branch, *, halving: bool = False) -> Iterator[Layer]:
    for number, (outputs, kernel) in enumerate(branch, start=1):
        if halving and number == len(branch):
            convolution = Convolution(outputs, kernel, stride=2, bias=False)
        else:
            height, width = pair(kernel)
            padding = (height // 2, width // 2)
            convolution = Convolution(outputs, kernel, padding=padding, bias=False)
        yield from _unit(f"{name}_{number}", convolution, (source,) if number == 1 else ())


def _unit(name: str, convolution: Convolution, inputs: tuple[str, ...] = ()) -> Iterator[Layer]:
    yield Layer(name, convolution, inputs)
    yield Layer(f"{name}_bn", BatchNormalization(scale=False))
    yield Layer(f"{name}_relu", Rectifier())
