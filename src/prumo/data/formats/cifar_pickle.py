"""CIFAR-10's batches for Python, read without running anything that a pickle could name."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from prumo.errors import DataError


def read_batch(name: str, content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Images, one in a row, and labels of a batch."""
    try:
        batch = _BatchUnpickler(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:
        # A broken pickle can raise nearly anything; none of it is ours.
        raise DataError(f"{name}: is not a batch of CIFAR-10: {error}") from error
    if not isinstance(batch, dict):
        raise DataError(f"{name}: is not a batch of CIFAR-10: it holds a {type(batch).__name__}")
    images, labels = batch.get(b"data"), batch.get(b"labels")
    if not isinstance(images, _PickledArray) or not _are_labels(labels):
        raise DataError(f"{name}: a batch of CIFAR-10 has the entries data and labels")
    return images.values(name), np.array(labels, dtype=np.uint8)


class _PickledType:
    """Stands for numpy's dtype: remembers which one was meant."""

    def __init__(self, code: object, *_: object) -> None:
        self.is_byte = code in (b"u1", "u1")

    def __setstate__(self, state: object) -> None:
        """Byte order and the like: a byte has none."""


class _PickledArray:
    """Stands for numpy's array: keeps the shape and the bytes."""

    def __init__(self, *_: object) -> None:
        self._state: Any = None

    def __setstate__(self, state: object) -> None:
        self._state = state

    def values(self, name: str) -> np.ndarray:
        """The array, if it is a plain one of bytes."""
        try:
            _, shape, kind, is_fortran, content = self._state
            if not kind.is_byte or is_fortran:
                raise DataError(f"{name}: its images are not bytes in rows")
            values: np.ndarray = np.frombuffer(content, dtype=np.uint8).reshape(shape)
        except (TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{name}: its array of images is broken: {error}") from error
        return values


_STAND_INS: dict[tuple[str, str], type] = {
    ("numpy.core.multiarray", "_reconstruct"): _PickledArray,
    ("numpy", "ndarray"): _PickledArray,
    ("numpy", "dtype"): _PickledType,
}
"""All names in the original files. Nothing is imported for a pickle."""


class _BatchUnpickler(pickle.Unpickler):
    """Answers three names with the stand-ins above and refuses every other."""

    def find_class(self, module_name: str, global_name: str, /) -> type:
        stand_in = _STAND_INS.get((module_name, global_name))
        if stand_in is None:
            raise pickle.UnpicklingError(
                f"it names {module_name}.{global_name}, which no such batch needs"
            )
        return stand_in


def _are_labels(labels: object) -> bool:
    return isinstance(labels, list) and all(
        isinstance(label, int) and 0 <= label < 256  # noqa: PLR2004 (a byte)
        for label in labels
    )
