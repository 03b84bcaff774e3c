"""Networks that grade diabetic retinopathy, after a published study of deployed models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo_worker.networks.layer import Dense, GlobalAveragePooling, Rectifier
from prumo_worker.networks.mobilenet import mobilenet_features
from prumo_worker.networks.network import Layer
from prumo_worker.networks.vgg import VGG19_BLOCKS, vgg_convolutions

if TYPE_CHECKING:
    from collections.abc import Iterator


def _head(classes: int) -> Iterator[Layer]:
    """Two dense layers of 128 before the scores; the study has five grades."""
    for position in (1, 2):
        yield Layer(f"dense{position}", Dense(128))
        yield Layer(f"dense_relu{position}", Rectifier())
    yield Layer("scores", Dense(classes))


def dr_vgg19(classes: int) -> Iterator[Layer]:
    """VGG19 that grades diabetic retinopathy, with two dense layers of 128 for a head.

    VGG19 without its own top, the mean of each channel, then the head. After a published study of
    deployed models: 20,107,205 parameters with its 5 grades.
    """
    yield from vgg_convolutions(VGG19_BLOCKS)
    yield Layer("pool", GlobalAveragePooling())
    yield from _head(classes)


def dr_mobilenet(classes: int) -> Iterator[Layer]:
    """MobileNet that grades diabetic retinopathy, with two dense layers of 128 for a head.

    MobileNet without its own top, then the head. After a published study of deployed models:
    3,377,221 parameters with its 5 grades.
    """
    yield from mobilenet_features()
    yield from _head(classes)
