"""The IDX format of MNIST and its relatives, plain or gzip."""

from __future__ import annotations

import gzip
import zlib
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from prumo_worker.failure import DataError

if TYPE_CHECKING:
    from pathlib import Path

_UNSIGNED_BYTES = 8
_IMAGES = ("train-images-idx3-ubyte", "train-images.idx3-ubyte")
_LABELS = ("train-labels-idx1-ubyte", "train-labels.idx1-ubyte")


def read_idx_folder(folder: Path) -> tuple[np.ndarray, np.ndarray, Path]:
    """Training images as (image, 1, row, column), their labels, and the images' file."""
    images_file = _find(folder, _IMAGES)
    images = _read_idx(images_file, dimensions=3)
    labels = _read_idx(_find(folder, _LABELS), dimensions=1)
    return images[:, np.newaxis], labels.astype(np.int64), images_file


def _find(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        for file in (folder / name, folder / f"{name}.gz"):
            if file.is_file():
                return file
    raise DataError(f"{folder}: holds neither {names[0]} nor {names[0]}.gz")


def _read_idx(file: Path, dimensions: int) -> np.ndarray:
    """One array of unsigned bytes: two zeros, the type, the dimensions, their sizes, the values."""
    content = _content(file)
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise DataError(f"{file}: ends within its header")
    expected = bytes([0, 0, _UNSIGNED_BYTES, dimensions])
    if content[:4] != expected:
        raise DataError(
            f"{file}: begins with {content[:4].hex()}, not with {expected.hex()}: "
            f"not an IDX file of bytes in {dimensions} dimensions"
        )
    shape = tuple(np.frombuffer(content, dtype=">u4", count=dimensions, offset=4).tolist())
    there = len(content) - header
    if there != prod(shape):
        raise DataError(f"{file}: announces {prod(shape)} bytes of data and holds {there}")
    values: np.ndarray = np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)
    return values


def _content(file: Path) -> bytes:
    try:
        content = file.read_bytes()
        return gzip.decompress(content) if file.suffix == ".gz" else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{file}: is not whole: {error}") from error
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from error
