"""Every network that Prumo brings; adding one is adding its function and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prumo_worker.networks.classic import (
    VGG19_BLOCKS,
    alexnet,
    lenet5,
    rede1,
    rede2,
    vgg16,
    vgg19,
    vgg_convolutions,
)
from prumo_worker.networks.inception import googlenet, googlenet_aux, inception_v3
from prumo_worker.networks.layer import Dense, GlobalAveragePooling, Rectifier
from prumo_worker.networks.mobilenet import mobilenet, mobilenet_features
from prumo_worker.networks.network import Layer
from prumo_worker.networks.resnet import resnet18, resnet50


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


@dataclass(frozen=True)
class Entry:
    """A network's layers and what it was made for."""

    layers: Callable[[int], Iterable[Layer]]
    """Its layers for so many classes."""
    image_size: int
    classes: int
    channels: int = 3

    @property
    def summary(self) -> str:
        """The first line of the network's docstring."""
        return (self.layers.__doc__ or "").partition("\n")[0].rstrip(".")


CATALOG = {
    "rede1": Entry(rede1, 32, 10),
    "rede2": Entry(rede2, 32, 10),
    "lenet5": Entry(lenet5, 28, 10, channels=1),
    "alexnet": Entry(alexnet, 227, 1000),
    "googlenet": Entry(googlenet, 224, 1000),
    "googlenet_aux": Entry(googlenet_aux, 224, 1000),
    "vgg16": Entry(vgg16, 224, 1000),
    "vgg19": Entry(vgg19, 224, 1000),
    "resnet18": Entry(resnet18, 224, 1000),
    "resnet50": Entry(resnet50, 224, 1000),
    "mobilenet": Entry(mobilenet, 224, 1000),
    "inception_v3": Entry(inception_v3, 299, 1000),
    "dr_mobilenet": Entry(dr_mobilenet, 224, 5),
    "dr_vgg19": Entry(dr_vgg19, 224, 5),
}
