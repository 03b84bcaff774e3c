"""A data set that can be trained on, and the one way to open any of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo_worker.data.catalog import CATALOG, GENERATED
from prumo_worker.data.generated import generated_images
from prumo_worker.data.prepared import PreparedImages, read_prepared
from prumo_worker.failure import DataError

if TYPE_CHECKING:
    from pathlib import Path


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
