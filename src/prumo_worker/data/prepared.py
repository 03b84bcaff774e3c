"""A prepared data set: a folder of plain arrays that every framework maps into its memory."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prumo_worker.task import DataError

IMAGES_FILE = "images.npy"
LABELS_FILE = "labels.npy"
CARD_FILE = "card.json"
"""Written last: a folder without it is not prepared."""

_CHUNK_BYTES = 1 << 24


@dataclass(frozen=True)
class PreparedImages:
    """The arrays of a prepared folder and what its card says of them."""

    folder: Path
    images: np.ndarray
    """As uint8 in the order (image, channel, row, column), read from disk when touched."""
    labels: np.ndarray
    classes: int
    source: str
    content: str
    """A hash of the files that the images came from."""

    def arranged(self, layout: str) -> np.ndarray:
        """The images in the order that `layout` names, from a file beside the first.

        Whoever needs it first writes it, before any clock runs; memory stays small. Where nothing
        can be written, the images are arranged in memory.
        """
        order = ["NCHW".index(axis) for axis in layout]
        turned = self.images.transpose(order)
        if turned.flags.c_contiguous:
            return turned
        file = self.folder / f"images-{layout.lower()}.npy"
        there = _arranged_before(file, turned.shape)
        if there is None:
            try:
                _write_arranged(file, self.images, order)
            except OSError:
                return np.ascontiguousarray(turned)
            there = _mapped(file)
        return there


def read_prepared(folder: Path) -> PreparedImages:
    """Open a prepared folder; nothing is read yet but its card and labels."""
    try:
        card = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{folder}: is not a prepared data set: {error}") from error
    images = _mapped(folder / IMAGES_FILE)
    labels = np.asarray(_mapped(folder / LABELS_FILE)).astype(np.int64)
    if list(images.shape) != [card["images"], *card["shape"]] or len(labels) != len(images):
        raise DataError(f"{folder}: its arrays are not those of its {CARD_FILE}")
    return PreparedImages(folder, images, labels, card["classes"], card["source"], card["content"])


def _mapped(file: Path) -> np.ndarray:
    try:
        _read_ahead(file)
        # A plain array on the mapped bytes: the subclass would follow into every batch.
        return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: cannot be read: {error}") from error


def _read_ahead(file: Path) -> None:
    """Ask for the file to be in memory when training starts, as far as there is room."""
    if hasattr(os, "posix_fadvise"):
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(descriptor)


def _arranged_before(file: Path, shape: tuple[int, ...]) -> np.ndarray | None:
    """The images as an earlier run arranged them, if they are those of the card."""
    if not file.exists():
        return None
    with suppress(DataError):
        images = _mapped(file)
        if images.shape == shape and images.dtype == np.uint8:
            return images
    return None


def _write_arranged(file: Path, images: np.ndarray, order: list[int]) -> None:
    """Write beside the file and rename, so that two workers at once do no harm."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    shape = tuple(images.shape[axis] for axis in order)
    step = max(1, _CHUNK_BYTES // max(1, images[:1].nbytes))
    try:
        with beside.open("wb") as stream:
            header = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(stream, header)
            for start in range(0, len(images), step):
                stream.write(images[start : start + step].transpose(order).tobytes())
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(file)
    finally:
        if beside.exists():
            beside.unlink()
