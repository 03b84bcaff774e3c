"""The IDX format of MNIST and its relatives, plain or gzip."""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from prumo.datasets.source import ArrayPictures, Subset, require_memory
from prumo.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_UNSIGNED_BYTES = 8
_IMAGES = ("train-images-idx3-ubyte", "train-images.idx3-ubyte")
_LABELS = ("train-labels-idx1-ubyte", "train-labels.idx1-ubyte")


def find(path: Path, dataset: str) -> IdxSource | None:
    """A folder with IDX files, or a training file for the folder that it lies in."""
    del dataset
    if path.is_dir():
        return IdxSource(path) if any(path.glob("*ubyte*")) else None
    if path.name.removesuffix(".gz") in _IMAGES + _LABELS:
        return IdxSource(path.parent)
    if "ubyte" in path.name:
        raise DataError(
            f"{path}: only the training part is used; name the folder or its {_IMAGES[0]}"
        )
    return None


@dataclass(frozen=True)
class IdxSource:
    """The training images and labels in a folder."""

    path: Path
    kind: ClassVar[str] = "IDX"
    class_names: ClassVar[Sequence[str]] = ()

    def files(self, subset: Subset) -> list[Path]:
        """Both files, whatever the subset."""
        del subset
        return [_existing(self.path, _IMAGES), _existing(self.path, _LABELS)]

    def read(self) -> ArrayPictures:
        """Both arrays."""
        images_file, labels_file = self.files(Subset())
        images = _read_idx(images_file, dimensions=3)
        labels = _read_idx(labels_file, dimensions=1)
        return ArrayPictures(images[:, np.newaxis], labels.astype(np.int64), images_file)


def _existing(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        for file in (folder / name, folder / f"{name}.gz"):
            if file.is_file():
                return file
    raise DataError(f"{folder}: holds neither {names[0]} nor {names[0]}.gz")


def _read_idx(file: Path, dimensions: int) -> np.ndarray:
    """One array of unsigned bytes: two zeros, the type, the dimensions, their sizes, the values."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            shape = _shape(file, stream.read(4 + 4 * dimensions), dimensions)
            require_memory(prod(shape), file)
            # Only one byte more than announced: a small gzip file can hold far more.
            content = stream.read(prod(shape) + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{file}: is not whole: {error}") from error
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from error
    if len(content) != prod(shape):
        there = "more" if len(content) > prod(shape) else len(content)
        raise DataError(f"{file}: announces {prod(shape)} bytes of data and holds {there}")
    values: np.ndarray = np.frombuffer(content, dtype=np.uint8).reshape(shape)
    return values


def _shape(file: Path, header: bytes, dimensions: int) -> tuple[int, ...]:
    if len(header) < 4 + 4 * dimensions:
        raise DataError(f"{file}: ends within its header")
    expected = bytes([0, 0, _UNSIGNED_BYTES, dimensions])
    if header[:4] != expected:
        raise DataError(
            f"{file}: begins with {header[:4].hex()}, not with {expected.hex()}: "
            f"not an IDX file of bytes in {dimensions} dimensions"
        )
    shape = struct.unpack_from(f">{dimensions}I", header, 4)
    if not all(shape[1:]):
        raise DataError(f"{file}: its images have no pixels: {shape}")
    return shape
