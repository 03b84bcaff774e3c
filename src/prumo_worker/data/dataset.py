"""A data set that can be trained on, and the one way to open any of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prumo_worker.data import CATALOG, GENERATED
from prumo_worker.data.prepared import PreparedImages, read_prepared
from prumo_worker.task import DataError

_CELLS = 4
_CHUNK = 256


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
    prepared: PreparedImages | None = None
    """Where the images lie on disk, when they do."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        channels, height, width = self.images.shape[1:]
        return int(channels), int(height), int(width)

    @property
    def content(self) -> str:
        """A hash of the files that the images came from; none for generated ones."""
        return self.prepared.content if self.prepared else ""

    def arranged(self, layout: str) -> np.ndarray:
        """All images in the order that `layout` names."""
        return self.prepared.arranged(layout) if self.prepared else arranged(self.images, layout)


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
    found = read_prepared(folder)
    there = found.images.shape
    if (image_size or there[2]) != there[2] or (images or len(found.labels)) != len(found.labels):
        raise DataError(
            f"{folder}: holds {there[0]} images of {there[2]} pixels; "
            f"{images or 'all'} of {image_size} were asked for"
        )
    return Dataset(found.images, found.labels, found.classes, found.source, found)


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
