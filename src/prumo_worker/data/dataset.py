"""A data set that can be trained on, and the one way to open any of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prumo_worker.data import CARD_FILE, CATALOG, GENERATED, IMAGES_FILE, LABELS_FILE
from prumo_worker.task import DataError

_CELLS = 4
_CHUNK = 256
_CHUNK_BYTES = 1 << 24


def generated_images(
    count: int,
    shape: tuple[int, int, int],
    classes: int,
    seed: int,
    only_class: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Noise over a coarse pattern for each class, so that a network can learn and its loss fall.

    The classes take turns, so that all are there in any number of images; unless only one is asked.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    patterns = _patterns(generator, shape, classes)
    labels: np.ndarray = np.arange(count, dtype=np.int64) % classes
    if only_class is not None:
        labels[:] = only_class
    images: np.ndarray = np.empty((count, *shape), dtype=np.uint8)
    for start in range(0, count, _CHUNK):
        part = slice(start, start + _CHUNK)
        images[part] = patterns[labels[part]]
        images[part] += generator.integers(0, 128, size=images[part].shape, dtype=np.uint8)
    return images, labels


def _patterns(
    generator: np.random.Generator, shape: tuple[int, int, int], classes: int
) -> np.ndarray:
    """One image of large cells for each class, at half brightness to leave room for the noise."""
    channels, height, width = shape
    coarse = generator.integers(0, 128, size=(classes, channels, _CELLS, _CELLS), dtype=np.uint8)
    rows: np.ndarray = np.arange(height) * _CELLS // height
    columns: np.ndarray = np.arange(width) * _CELLS // width
    patterns: np.ndarray = coarse[:, :, rows[:, None], columns]
    return patterns


@dataclass(frozen=True)
class Dataset:
    """Images as uint8 in the order (image, channel, row, column) and their labels as int64."""

    images: np.ndarray
    labels: np.ndarray
    classes: int
    source: str
    """`generated`, or the path that the images came from."""
    content: str = ""
    """A hash of the files that the images came from; none for generated ones."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        channels, height, width = self.images.shape[1:]
        return int(channels), int(height), int(width)

    def arranged(self, layout: str) -> np.ndarray:
        """All images in the order that `layout` names."""
        return arranged(self.images, layout)


@dataclass(frozen=True)
class PreparedDataset(Dataset):
    """A folder of plain arrays that every framework maps into its memory, read when touched."""

    folder: Path = Path()

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


def arranged(images: np.ndarray, layout: str) -> np.ndarray:
    """Images of the order NCHW in the order that `layout` names."""
    order = ["NCHW".index(axis) for axis in layout]
    return np.ascontiguousarray(images.transpose(order))


def open_dataset(  # noqa: PLR0913 (each is a choice of its own)
    name: str,
    image_size: int | None,
    images: int | None,
    seed: int,
    path: Path | None,
    only_class: int | None = None,
) -> Dataset:
    """The first `images` images at `image_size`, prepared at `path` or generated without one."""
    if path is not None:
        return _prepared(path, image_size, images)
    card = CATALOG.get(name)
    if card is None:
        raise DataError(
            f"no data set is named {name!r}; known: {', '.join(CATALOG)}; "
            "one of your own needs its folder named under the workload's data"
        )
    count = images or card.images
    if name != GENERATED and count > card.images:
        raise DataError(f"{name}: has {card.images} images, {count} were asked for")
    if only_class is not None and only_class >= card.classes:
        raise DataError(f"{name}: its classes are 0 to {card.classes - 1}, not {only_class}")
    size = image_size or card.image_size
    pictures, labels = generated_images(
        count, (card.channels, size, size), card.classes, seed, only_class
    )
    return Dataset(pictures, labels, card.classes, GENERATED)


def _prepared(folder: Path, image_size: int | None, images: int | None) -> Dataset:
    """Open a prepared folder; nothing is read yet but its card and labels."""
    try:
        card = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{folder}: is not a prepared data set: {error}") from error
    pictures = _mapped(folder / IMAGES_FILE)
    labels = np.asarray(_mapped(folder / LABELS_FILE)).astype(np.int64)
    if list(pictures.shape) != [card["images"], *card["shape"]] or len(labels) != len(pictures):
        raise DataError(f"{folder}: its arrays are not those of its {CARD_FILE}")
    count, size = len(labels), pictures.shape[2]
    if (image_size or size, images or count) != (size, count):
        raise DataError(
            f"{folder}: holds {count} images of {size} pixels; "
            f"{images or 'all'} of {image_size} were asked for"
        )
    facts = (card["classes"], card["source"], card["content"])
    return PreparedDataset(pictures, labels, *facts, folder)


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


Batch = tuple[np.ndarray, np.ndarray]
"""Images as float32 from -1 to 1 and labels as int64."""

_SCALE = np.float32(1 / 127.5)


class Feed:
    """Gives every image once per epoch, the last batch with what remains.

    The images are arranged once in the layout that the framework takes, before any clock runs.
    """

    def __init__(self, dataset: Dataset, batch_size: int, seed: int, layout: str = "NCHW") -> None:
        self.batch_size = batch_size
        self._seed = seed
        self._images = dataset.arranged(layout)
        self._labels = dataset.labels

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of one epoch, converted one at a time: the images stay bytes in memory."""
        order = self._order(number)
        for start in range(0, len(order), self.batch_size):
            yield self._batch(order[start : start + self.batch_size])

    def warm_up(self, steps: int) -> Iterator[Batch]:
        """Batches for a rehearsal: whole ones, and at last one of the epoch's last size.

        A framework that compiles for a batch size has then met every size it will be timed with;
        where there are two sizes, that takes two steps at least.
        """
        order = self._order(0)
        whole = min(self.batch_size, len(order))
        last = [len(order) % whole] if len(order) % whole else []
        for size in [*[whole] * max(1, steps - len(last)), *last]:
            yield self._batch(order[:size])

    def _order(self, epoch: int) -> np.ndarray:
        stream = np.random.SeedSequence(self._seed, spawn_key=(epoch,))
        generator = np.random.Generator(np.random.PCG64(stream))
        order: np.ndarray = generator.permutation(len(self._labels))
        return order

    def _batch(self, chosen: np.ndarray) -> Batch:
        images = np.multiply(self._images[chosen], _SCALE, dtype=np.float32)
        images -= 1
        return images, self._labels[chosen]
