"""Every network once, as data: layers, shapes, parameters and FLOPs.

This package needs neither numpy nor a framework (`weights` alone does), so that a
controller can check names and count parameters and FLOPs before anything is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prumo_worker.networks.catalog import CATALOG
from prumo_worker.networks.definition import read_layers
from prumo_worker.networks.network import Network, assemble
from prumo_worker.networks.operation import NetworkError, describe, hint

__all__ = ["NAMES", "Network", "NetworkError", "network"]

NAMES: tuple[str, ...] = tuple(CATALOG)


def network(
    name: str,
    image_size: int,
    channels: int,
    classes: int,
    definition: Sequence[Any] | None = None,
) -> Network:
    """The named network for square images, every shape worked out.

    A definition gives the layers of a network that Prumo does not bring itself.

    >>> network("lenet5", image_size=28, channels=1, classes=10).parameters
    61706
    """
    if classes < 1:
        raise NetworkError(f"{name}: needs at least one class, not {classes}")
    image = (channels, image_size, image_size)
    if definition is not None:
        return _checked(assemble(name, image, read_layers(definition, classes)), classes)
    if name not in CATALOG:
        raise NetworkError(f"no network is named {name!r}; {hint(name, NAMES)}")
    return assemble(name, image, CATALOG[name].layers(classes))


def _checked(built: Network, classes: int) -> Network:
    """Refuse a network of the user's own that does not end in a score for each class."""
    position = len(built.nodes) - 1
    last = built.nodes[position]
    if last.output_shape != (classes,):
        raise NetworkError(
            f"{built.name}: layer {last.name}: the last layer gives a score for each of the "
            f"{classes} classes, as `outputs: classes` does; this one gives "
            f"{describe(last.output_shape)}",
            position,
        )
    return built
