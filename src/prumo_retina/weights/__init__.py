"""Pretrained weights: named arrays from files of Keras, PyTorch and ONNX, and from packages.

Nothing that such a file holds is ever run.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import DataError, InputError
from prumo_retina.weights.files import (
    NamedArrays,
    arrays_of_keras,
    arrays_of_keras_archive,
    arrays_of_onnx,
    write_arrays,
)
from prumo_retina.weights.pytorch import arrays_of_pytorch, arrays_of_safetensors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

__all__ = ["NamedArrays", "named_arrays", "write_arrays"]

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
        _check(name, array, path)
    return NamedArrays(arrays, path.name, hashlib.sha256(content).hexdigest())


def _check(name: str, array: np.ndarray, path: Path) -> None:
    """What a worker could not be given under this name."""
    if not name.isprintable():
        raise DataError(f"{path}: has an array with a name that cannot be printed: {name[:60]!a}")
    if array.dtype.kind not in _NUMBERS:
        raise DataError(f"{path}: the array {name!r} is of {array.dtype}, not of plain numbers")
