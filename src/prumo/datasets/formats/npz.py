"""Images and labels from one npz file, without ever unpickling."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from math import prod
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy as np

from prumo.datasets.source import ArrayPictures, Subset, require_memory
from prumo.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_KEYS = (("x_train", "y_train"), ("images", "labels"), ("x", "y"))
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_CHANNELS = (1, 3)
_WITHOUT_CHANNELS = 3
_WITH_CHANNELS = 4


def find(path: Path, dataset: str) -> NpzSource | None:
    """An npz file, or a folder with NAME.npz; without a name, a folder with a single one."""
    if path.is_file():
        return NpzSource(path) if path.suffix == ".npz" else None
    if dataset:
        inside = path / f"{dataset}.npz"
        return NpzSource(inside) if inside.is_file() else None
    found = sorted(path.glob("*.npz"))
    return NpzSource(found[0]) if len(found) == 1 else None


@dataclass(frozen=True)
class NpzSource:
    """One file of numpy arrays."""

    path: Path
    kind: ClassVar[str] = "npz"
    class_names: ClassVar[Sequence[str]] = ()

    def files(self, subset: Subset) -> list[Path]:
        """The one file."""
        del subset
        return [self.path]

    def read(self) -> ArrayPictures:
        """Its images and labels.

        Images may lie as (image, row, column), (image, row, column, channel) or (image, channel,
        row, column). Where both of the latter are possible, the channels are taken to come last.
        """
        images, labels = _arrays(self.path)
        return ArrayPictures(
            _channels_first(self.path, images), _flat(self.path, labels), self.path
        )


def _arrays(file: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        with zipfile.ZipFile(file) as archive:
            image_member, label_member = _members(file, archive.namelist())
            return _array(file, archive, image_member), _array(file, archive, label_member)
    except DataError:
        raise
    except Exception as error:
        # A broken archive makes zipfile and numpy raise nearly anything; none of it is ours.
        raise DataError(f"{file}: is not a whole npz file of plain arrays: {error}") from error


def _members(file: Path, names: Sequence[str]) -> tuple[str, str]:
    there = {name.removesuffix(".npy"): name for name in names}
    for images, labels in _KEYS:
        if images in there and labels in there:
            return there[images], there[labels]
    pairs = ", ".join("/".join(pair) for pair in _KEYS)
    raise DataError(f"{file}: holds {', '.join(there) or 'nothing'}; needs one pair of {pairs}")


def _array(file: Path, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """One member, read only when it holds what its header announces."""
    member = archive.getinfo(name)
    place = f"{file}: its {name}"
    require_memory(member.file_size, place)
    with archive.open(member) as stream:
        shape, is_fortran, kind = _header(place, stream)
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


def _header(place: str, stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise DataError(f"{place} is of npy version {version[0]}.{version[1]}, not 1.0 or 2.0")
    header: tuple[tuple[int, ...], bool, np.dtype[Any]] = _HEADERS[version](stream)
    return header


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
