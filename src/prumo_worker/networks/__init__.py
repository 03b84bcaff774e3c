"""Every network once, as data; adding one is adding a file and its line here.

This package needs neither numpy nor a framework (`weights` alone does), so that a controller can
check names and count parameters and FLOPs before anything is installed.
"""

from __future__ import annotations

from prumo_worker.networks import lenet5, rede1, rede2
from prumo_worker.networks.layer import NetworkError
from prumo_worker.networks.network import Network, assemble

__all__ = ["NAMES", "Network", "NetworkError", "network"]

_LAYERS = {
    "lenet5": lenet5.layers,
    "rede1": rede1.layers,
    "rede2": rede2.layers,
}

NAMES: tuple[str, ...] = tuple(_LAYERS)


def network(name: str, image_size: int, channels: int, classes: int) -> Network:
    """The named network for square images, every shape worked out.

    >>> network("lenet5", image_size=28, channels=1, classes=10).parameters
    61706
    """
    if name not in _LAYERS:
        raise NetworkError(f"no network is named {name!r}; known: {', '.join(NAMES)}")
    if classes < 1:
        raise NetworkError(f"{name}: needs at least one class, not {classes}")
    return assemble(name, (channels, image_size, image_size), _LAYERS[name](classes))
