"""Pretrained weights: named arrays from files of Keras, PyTorch and ONNX, and from packages.

Nothing that such a file holds is ever run.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import DataError, InputError, UnavailableError, did_you_mean
from prumo_retina.weights.files import (
    NamedArrays,
    arrays_of_keras,
    arrays_of_keras_archive,
    arrays_of_onnx,
    arrays_of_pytorch,
    arrays_of_safetensors,
)
from prumo_worker.retina.backbones import FACTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from prumo.progress import Progress

_READERS: dict[str, Callable[[bytes], Mapping[str, np.ndarray]]] = {
    ".keras": arrays_of_keras_archive,
    ".h5": arrays_of_keras,
    ".hdf5": arrays_of_keras,
    ".pt": arrays_of_pytorch,
    ".pth": arrays_of_pytorch,
    ".safetensors": arrays_of_safetensors,
    ".onnx": arrays_of_onnx,
}
_NUMBERS = "biuf"
"""numpy's letters for truth values, whole numbers and floats."""
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

    The source is `auto` (a package, then Keras's cache, then none), `none`, `library` (Keras's own,
    which Keras fetches if need be), or a file.
    """
    if network not in FACTS:
        raise InputError(f"no backbone is named {network!r}; {did_you_mean(network, FACTS)}")
    # Files are also read in a framework's environment, which has none of what this needs.
    from prumo_retina.weights.packages import PACKAGES, packaged_arrays  # noqa: PLC0415

    arrays = None
    if source not in {AUTO, NONE, LIBRARY}:
        arrays = named_arrays(source)
    elif source == AUTO and network in PACKAGES:
        arrays = packaged_arrays(network, progress)
    if arrays is not None:
        progress.say(f"weights from {arrays}")
        return Weights(arrays)
    if source == LIBRARY or (source == AUTO and _in_cache(network)):
        if not FACTS[network].library_file:
            raise UnavailableError(
                f"Keras has no weights of {network} of its own; use auto or a file"
            )
        where = "from Keras's cache" if _in_cache(network) else "which Keras fetches now"
        progress.say(f"weights of {network} for ImageNet, {where}")
        return Weights(from_library=True)
    reason = (
        "as asked"
        if source == NONE
        else f"no weights of {network} are here; `--weights library` lets Keras fetch those for "
        "ImageNet, and `--weights FILE` takes a file of Keras, PyTorch or ONNX"
    )
    progress.say(f"training from scratch: {reason}")
    return Weights()


def _in_cache(network: str) -> bool:
    home = os.environ.get("KERAS_HOME")
    folder = Path(home) if home else Path.home() / ".keras"
    name = FACTS[network].library_file
    return bool(name) and (folder / "models" / name).is_file()


def named_arrays(source: str | Path) -> NamedArrays:
    """The weights in a file, read by the kind that its ending names."""
    path = Path(source)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path}: weights come from a file that ends in {', '.join(_READERS)}, "
            f"not {path.suffix or 'without an ending'}"
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        arrays = reader(content)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    if not arrays:
        raise DataError(f"{path}: has no weights in it")
    for name, array in arrays.items():
        if not name.isprintable():
            raise DataError(
                f"{path}: has an array with a name that cannot be printed: {name[:60]!a}"
            )
        if array.dtype.kind not in _NUMBERS:
            raise DataError(f"{path}: the array {name!r} is of {array.dtype}, not of plain numbers")
    return NamedArrays(arrays, path.name, hashlib.sha256(content).hexdigest())
