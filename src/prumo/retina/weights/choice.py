"""Which weights a backbone starts from, said loudly when it is none."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import InputError, UnavailableError, did_you_mean
from prumo.retina.weights import NamedArrays, named_arrays
from prumo.retina.weights.packaged import PACKAGES, packaged_arrays
from prumo_worker.retina.backbones.names import FACTS

if TYPE_CHECKING:
    from prumo.progress import Progress

AUTO = "auto"
NONE = "none"
LIBRARY = "library"


@dataclass(frozen=True)
class Weights:
    """What a backbone is filled with: arrays, Keras's own weights, or nothing."""

    arrays: NamedArrays | None = None
    from_library: bool = False

    def __str__(self) -> str:
        """As a model's description tells it."""
        if self.arrays is not None:
            return str(self.arrays)
        return "Keras's own weights for ImageNet" if self.from_library else "scratch"


def resolve_weights(network: str, source: str, progress: Progress) -> Weights:
    """Find what a user named, and say what it is.

    Args:
        network: one of `prumo_worker.retina.backbones.names.NAMES`.
        source: `auto` (a package, then Keras's cache, then none), `none`, `library` (Keras's own,
            which Keras fetches if need be), or a file.
        progress: hears what was found.
    """
    if network not in FACTS:
        raise InputError(f"no backbone is named {network!r}; {did_you_mean(network, FACTS)}")
    if source == NONE:
        return _scratch(progress, "as asked")
    if source == LIBRARY:
        return _library(network, progress)
    if source != AUTO:
        return _arrays(named_arrays(source), progress)
    if network in PACKAGES:
        return _arrays(packaged_arrays(network, progress), progress)
    if _in_cache(network):
        return _library(network, progress)
    return _scratch(
        progress,
        f"no weights of {network} are here; `--weights library` lets Keras fetch those for "
        "ImageNet, and `--weights FILE` takes a file of Keras, PyTorch or ONNX",
    )


def _arrays(arrays: NamedArrays, progress: Progress) -> Weights:
    progress.say(f"weights from {arrays}")
    return Weights(arrays)


def _library(network: str, progress: Progress) -> Weights:
    if not FACTS[network].library_file:
        raise UnavailableError(f"Keras has no weights of {network} of its own; use auto or a file")
    where = "from Keras's cache" if _in_cache(network) else "which Keras fetches now"
    progress.say(f"weights of {network} for ImageNet, {where}")
    return Weights(from_library=True)


def _scratch(progress: Progress, reason: str) -> Weights:
    progress.say(f"training from scratch: {reason}")
    return Weights()


def _in_cache(network: str) -> bool:
    home = os.environ.get("KERAS_HOME")
    folder = Path(home) if home else Path.home() / ".keras"
    name = FACTS[network].library_file
    return bool(name) and (folder / "models" / name).is_file()
