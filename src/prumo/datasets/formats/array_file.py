"""Data sets that are arrays already: IDX files of MNIST and its relatives, and npz files.

Nothing is ever unpickled.
"""

from __future__ import annotations

import gzip
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import ClassVar

import numpy as np

from prumo.datasets.source import ArrayPictures, Source, Subset, reading, require_memory
from prumo.errors import DataError

_UNSIGNED_BYTES = 8
_IDX_IMAGES = ("train-images-idx3-ubyte", "train-images.idx3-ubyte")
_IDX_LABELS = ("train-labels-idx1-ubyte", "train-labels.idx1-ubyte")


def find_idx(path: Path, _dataset: str) -> IdxSource | None:
    """A folder with IDX files, or a training file for the folder that it lies in."""
    if path.is_dir():
        return IdxSource(path) if any(path.glob("*ubyte*")) else None
    if path.name.removesuffix(".gz") in _IDX_IMAGES + _IDX_LABELS:
        return IdxSource(path.parent)
    if "ubyte" in path.name:
        raise DataError(
            f"{path}: only the training part is used; name the folder or its {_IDX_IMAGES[0]}"
        )
    return None


@dataclass(frozen=True)
class IdxSource(Source):
    """The training images and labels in a folder."""

    kind: ClassVar[str] = "IDX"

    def files(self, _subset: Subset) -> list[Path]:
        """Both files, whatever the subset."""
        return [_existing(self.path, _IDX_IMAGES), _existing(self.path, _IDX_LABELS)]

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
    with reading(file), gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
        shape = _idx_shape(file, stream.read(4 + 4 * dimensions), dimensions)
        require_memory(prod(shape), file)
        # Only one byte more than announced: a small gzip file can hold far more.
        content = stream.read(prod(shape) + 1)
    if len(content) != prod(shape):
        there = "more" if len(content) > prod(shape) else len(content)
        raise DataError(f"{file}: announces {prod(shape)} bytes of data and holds {there}")
    values: np.ndarray = np.frombuffer(content, dtype=np.uint8).reshape(shape)
    return values


def _idx_shape(file: Path, header: bytes, dimensions: int) -> tuple[int, ...]:
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


_NPZ_KEYS = (("x_train", "y_train"), ("images", "labels"), ("x", "y"))
_NPZ_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_CHANNELS = (1, 3)
_WITHOUT_CHANNELS = 3
_WITH_CHANNELS = 4


def find_npz(path: Path, dataset: str) -> NpzSource | None:
    """An npz file, or a folder with NAME.npz; without a name, a folder with a single one."""
    if path.is_file():
        return NpzSource(path) if path.suffix == ".npz" else None
    if dataset:
        inside = path / f"{dataset}.npz"
        return NpzSource(inside) if inside.is_file() else None
    found = sorted(path.glob("*.npz"))
    return NpzSource(found[0]) if len(found) == 1 else None


@dataclass(frozen=True)
class NpzSource(Source):
    """One file of numpy arrays."""

    kind: ClassVar[str] = "npz"

    def files(self, _subset: Subset) -> list[Path]:
        """The one file."""
        return [self.path]

    def read(self) -> ArrayPictures:
        """Its images and labels.

        Images may lie as (image, row, column), (image, row, column, channel) or (image, channel,
        row, column). Where both of the latter are possible, the channels are taken to come last.
        """
        images, labels = _npz_arrays(self.path)
        return ArrayPictures(
            _channels_first(self.path, images), _flat(self.path, labels), self.path
        )


def _npz_arrays(file: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        with zipfile.ZipFile(file) as archive:
            image_member, label_member = _npz_members(file, archive.namelist())
            return _npz_array(file, archive, image_member), _npz_array(file, archive, label_member)
    except DataError:
        raise
    except Exception as error:
        # A broken archive makes zipfile and numpy raise nearly anything; none of it is ours.
        raise DataError(f"{file}: is not a whole npz file of plain arrays: {error}") from error


def _npz_members(file: Path, names: Sequence[str]) -> tuple[str, str]:
    there = {name.removesuffix(".npy"): name for name in names}
    for images, labels in _NPZ_KEYS:
        if images in there and labels in there:
            return there[images], there[labels]
    pairs = ", ".join("/".join(pair) for pair in _NPZ_KEYS)
    raise DataError(f"{file}: holds {', '.join(there) or 'nothing'}; needs one pair of {pairs}")


def _npz_array(file: Path, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """One member, read only when it holds what its header announces."""
    member = archive.getinfo(name)
    place = f"{file}: its {name}"
    require_memory(member.file_size, place)
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        if version not in _NPZ_HEADERS:
            raise DataError(f"{place} is of npy version {version[0]}.{version[1]}, not 1.0 or 2.0")
        shape, is_fortran, kind = _NPZ_HEADERS[version](stream)
        if kind.hasobject:
            raise DataError(
                f"{file}: holds Python objects, as numpy keeps images of different sizes; "
                "give all images one size and save them as one array of uint8"
            )
        announced, there = prod(shape) * kind.itemsize, member.file_size - stream.tell()
        if announced != there:
            raise DataError(f"{place} announces {announced} bytes of data and holds {there}")
        values: np.ndarray = np.frombuffer(stream.read(), dtype=kind)
    return values.reshape(shape, order="F" if is_fortran else "C")


def _channels_first(file: Path, images: np.ndarray) -> np.ndarray:
    if images.dtype != np.uint8:
        raise DataError(f"{file}: images must be uint8, these are {images.dtype}")
    if images.ndim == _WITHOUT_CHANNELS:
        images = images[:, np.newaxis]
    elif images.ndim == _WITH_CHANNELS and images.shape[3] in _CHANNELS:
        images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    if images.ndim != _WITH_CHANNELS or images.shape[1] not in _CHANNELS or not images[:1].size:
        raise DataError(f"{file}: no images of 1 or 3 channels have the shape {images.shape}")
    return images


def _flat(file: Path, labels: np.ndarray) -> np.ndarray:
    if labels.dtype.kind not in "iu":
        raise DataError(f"{file}: labels must be whole numbers, these are {labels.dtype}")
    if labels.ndim != 1 and labels.shape[1:] != (1,):
        raise DataError(f"{file}: needs one label for each image, not the shape {labels.shape}")
    return labels.reshape(-1).astype(np.int64)
