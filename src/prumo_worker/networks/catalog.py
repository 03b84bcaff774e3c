"""Every network that Prumo brings; adding one is adding a file and its line here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo_worker.networks import (
    alexnet,
    dr_mobilenet,
    dr_vgg19,
    googlenet,
    googlenet_aux,
    inception_v3,
    lenet5,
    mobilenet,
    rede1,
    rede2,
    resnet18,
    resnet50,
    vgg16,
    vgg19,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    from prumo_worker.networks.network import Layer


@dataclass(frozen=True)
class Entry:
    """A network's layers and what it was made for."""

    layers: Callable[[int], Iterable[Layer]]
    """Its layers for so many classes."""
    summary: str
    image_size: int
    classes: int
    channels: int = 3


def _entry(module: ModuleType, image_size: int, classes: int, channels: int = 3) -> Entry:
    summary = (module.__doc__ or "").partition("\n")[0].rstrip(".")
    return Entry(module.layers, summary, image_size, classes, channels)


CATALOG = {
    "rede1": _entry(rede1, 32, 10),
    "rede2": _entry(rede2, 32, 10),
    "lenet5": _entry(lenet5, 28, 10, channels=1),
    "alexnet": _entry(alexnet, 227, 1000),
    "googlenet": _entry(googlenet, 224, 1000),
    "googlenet_aux": _entry(googlenet_aux, 224, 1000),
    "vgg16": _entry(vgg16, 224, 1000),
    "vgg19": _entry(vgg19, 224, 1000),
    "resnet18": _entry(resnet18, 224, 1000),
    "resnet50": _entry(resnet50, 224, 1000),
    "mobilenet": _entry(mobilenet, 224, 1000),
    "inception_v3": _entry(inception_v3, 299, 1000),
    "dr_mobilenet": _entry(dr_mobilenet, 224, 5),
    "dr_vgg19": _entry(dr_vgg19, 224, 5),
}
