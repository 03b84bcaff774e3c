"""The frameworks that can train: one file for each, behind one interface."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Protocol

from prumo_worker.failure import Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from prumo_worker.networks import Network
    from prumo_worker.recipe import Recipe

NAMES: tuple[str, ...] = tuple(sorted(module.name for module in iter_modules(__path__)))


class Trainer(Protocol):
    """A framework with one network in it.

    Devices may work behind the caller's back: `step` returns at once, and only `spans` and `fetch`
    wait. Whatever a trainer returns as `Any` is its own and goes back to it unread.
    """

    device: str
    """What the steps run on, in words: `cpu`, or the name of a GPU."""
    threads: int
    """The compute threads in use, as the framework itself counts them."""
    versions: Mapping[str, str]
    """The framework's version, and those of the libraries it brings."""
    build: Mapping[str, str]
    """What speed depends on: compiler, math libraries, vector instructions."""

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Start anew from these weights, the optimizer as if it had never run."""

    def batch(self, images: np.ndarray, labels: np.ndarray) -> Any:  # noqa: ANN401
        """Bring a batch to where `step` wants it."""

    def step(self, batch: Any) -> Any:  # noqa: ANN401
        """Forward, loss, backward, update."""

    def mark(self) -> Any:  # noqa: ANN401
        """A moment on the device's own clock, after all that was asked so far."""

    def spans(self, marks: Sequence[Any]) -> list[float]:
        """Seconds between each mark and the next, after all work is done."""

    def fetch(self, outcomes: Sequence[Any]) -> tuple[list[float], int]:
        """The loss of each step and, over all of them, how many images were classified right."""


def open_trainer(network: Network, recipe: Recipe, threads: int) -> Trainer:
    """Import the recipe's framework and build the network in it."""
    name, _, version = recipe.framework.partition("@")
    if name not in NAMES:
        raise Unavailable(f"no framework is named {name!r}; known: {', '.join(NAMES)}")
    try:
        module = import_module(f"{__name__}.{name}")
    except ImportError as error:
        raise Unavailable(f"{name} cannot be imported in this environment: {error}") from error
    trainer: Trainer = module.open_trainer(network, recipe, threads)
    here = trainer.versions[name]
    # A local build adds its own mark after a plus sign: 2.13.0+cpu is a 2.13.0.
    if version and version not in (here, here.partition("+")[0]):
        raise Unavailable(f"this environment has {name} {here}, not the {version} asked for")
    return trainer
