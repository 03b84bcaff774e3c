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
        built = assemble(name, image, read_layers(definition, classes))
        last = built.nodes[-1]
        if last.output_shape != (classes,):
            raise NetworkError(
                f"{name}: layer {last.name}: the last layer gives a score for each of the "
                f"{classes} classes, as `outputs: classes` does; this one gives "
                f"{describe(last.output_shape)}",
                len(built.nodes) - 1,
            )
        return built
    if name not in CATALOG:
        raise NetworkError(f"no network is named {name!r}; {hint(name, NAMES)}")
    return assemble(name, image, CATALOG[name].layers(classes))
