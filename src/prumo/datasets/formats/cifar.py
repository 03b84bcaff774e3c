"""The batches of CIFAR-10, binary or for Python, in a folder or still in their archive."""

from __future__ import annotations

import io
import pickle
import re
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from prumo.datasets.source import ArrayPictures, Source, Subset, reading
from prumo.errors import DataError

_BATCH = re.compile(r"data_batch_([1-9])(\.bin)?")
_ARCHIVE = re.compile(r"cifar-10-(binary|python)\.tar(\.gz)?")
_UNPACKED = ("", "cifar-10-batches-bin", "cifar-10-batches-py")
_CIFAR10, _BATCHES = "cifar10", 5
_CHANNELS, _SIDE = 3, 32
_IMAGE_BYTES = _CHANNELS * _SIDE * _SIDE
_RECORD_BYTES = 1 + _IMAGE_BYTES
_MOST_BYTES = 1 << 28


def find(path: Path, dataset: str) -> CifarSource | None:
    """Batches in a folder or the folder that the archive unpacks to, or the archive itself."""
    least = _BATCHES if dataset == _CIFAR10 else 1
    if path.is_file():
        if _BATCH.fullmatch(path.name):
            return CifarSource(path, (path,), least_batches=0)
        return CifarSource(path, (path,), least) if _ARCHIVE.fullmatch(path.name) else None
    for name in _UNPACKED:
        batches = sorted(file for file in (path / name).glob("*") if _BATCH.fullmatch(file.name))
        if binary := [file for file in batches if file.suffix == ".bin"]:
            batches = binary
        if batches:
            return CifarSource(path, tuple(batches), least)
    archives = sorted(file for file in path.iterdir() if _ARCHIVE.fullmatch(file.name))
    return CifarSource(path, (archives[0],), least) if archives else None


@dataclass(frozen=True)
class CifarSource(Source):
    """The training batches, or the archive with them."""

    found: tuple[Path, ...]
    least_batches: int
    """How many there must be; 0 where a single one was named itself."""
    kind: ClassVar[str] = "CIFAR-10"

    def files(self, _subset: Subset) -> Sequence[Path]:
        """All batches, whatever the subset: labels and images lie together."""
        return self.found

    def read(self) -> ArrayPictures:
        """All batches, one after the other."""
        archive = _ARCHIVE.fullmatch(self.found[0].name)
        contents: dict[str, bytes] = {}
        for file in self.found:
            with reading(file):
                contents |= _members(file) if archive else {str(file): file.read_bytes()}
        if self.least_batches:
            _require_all(contents, self.least_batches, self.path)
        batches = [_arrays(name, content) for name, content in contents.items()]
        images = np.concatenate([images for images, _ in batches])
        labels = np.concatenate([labels for _, labels in batches])
        return ArrayPictures(
            images.reshape(-1, _CHANNELS, _SIDE, _SIDE), labels.astype(np.int64), self.path
        )


def _members(archive: Path) -> dict[str, bytes]:
    """The batches of an archive, read in memory: no name in it becomes a path on this disk."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(archive, "r|*") as members:
            for member in members:
                name = member.name.rpartition("/")[2]
                if not _BATCH.fullmatch(name) or not member.isfile():
                    continue
                if member.size > _MOST_BYTES:
                    raise DataError(f"{archive}: its {name} has {member.size} bytes, too many")
                stream = members.extractfile(member)
                found[f"{archive}/{name}"] = stream.read() if stream else b""
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise DataError(f"{archive}: is not a whole archive: {error}") from error
    if not found:
        raise DataError(f"{archive}: holds no data_batch_1 and so on")
    return dict(sorted(found.items()))


def _require_all(contents: Mapping[str, bytes], least_batches: int, path: Path) -> None:
    """Refuse a gap between batches, and fewer than there must be: part of the data was lost."""
    there = [name.rpartition("/")[2] for name in contents]
    suffix = ".bin" if there[0].endswith(".bin") else ""
    last = max(least_batches, *(int(name.removeprefix("data_batch_")[0]) for name in there))
    expected = [f"data_batch_{number}{suffix}" for number in range(1, last + 1)]
    if missing := [name for name in expected if name not in there]:
        raise DataError(f"{path}: lacks {', '.join(missing)}")


def _arrays(name: str, content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Images, one in a row, and labels of a batch."""
    if not name.endswith(".bin"):
        images, labels = read_batch(name, content)
    elif content and len(content) % _RECORD_BYTES == 0:
        records: np.ndarray = np.frombuffer(content, dtype=np.uint8).reshape(-1, _RECORD_BYTES)
        images, labels = records[:, 1:], records[:, 0]
    else:
        raise DataError(
            f"{name}: {len(content)} bytes are no whole number of images of {_RECORD_BYTES} bytes"
        )
    if images.shape != (len(labels), _IMAGE_BYTES):
        raise DataError(
            f"{name}: {len(labels)} labels do not fit to images of the shape {images.shape}"
        )
    return images, labels


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
