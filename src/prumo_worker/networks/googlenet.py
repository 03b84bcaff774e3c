"""GoogLeNet as Caffe publishes it, without its auxiliary heads.

After Szegedy et al. 2014 and Caffe's `bvlc_googlenet`: 6,998,552 parameters with 1000 classes.
The last pooling is over the whole image, which on 224x224 images is the published 7x7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.layer import (
    AveragePooling,
    Concatenate,
    Convolution,
    Dense,
    Dropout,
    Flatten,
    GlobalAveragePooling,
    LocalResponseNormalization,
    MaxPooling,
    Operation,
    Rectifier,
)
from prumo_worker.networks.network import Layer

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def layers(classes: int) -> Iterator[Layer]:
    """Three convolutions and nine inception stages."""
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
