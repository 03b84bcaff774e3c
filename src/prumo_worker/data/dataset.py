"""A data set in memory, and the one way to open any of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prumo_worker.data import idx, npz
from prumo_worker.data.catalog import CATALOG, GENERATED, Card
from prumo_worker.data.generated import generated_images
from prumo_worker.data.resize import resized
from prumo_worker.failure import DataError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np


@dataclass(frozen=True)
class Dataset:
    """Images as uint8 in the order (image, channel, row, column) and their labels as int64."""

    images: np.ndarray
    labels: np.ndarray
    classes: int
    source: str
    """`generated`, or the path that the images came from."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        channels, height, width = self.images.shape[1:]
        return int(channels), int(height), int(width)


def open_dataset(
    name: str, image_size: int | None, images: int | None, seed: int, path: Path | None
) -> Dataset:
    """The first `images` images at `image_size`, read from `path` or generated without one.

    `path` is an npz file, a folder with `NAME.npz`, or a folder with the original IDX files.
    """
    card = CATALOG.get(name)
    if path is not None:
        return _square(_read(name, card, images, path), image_size)
    if card is None:
        raise DataError(
            f"no data set is named {name!r}; known: {', '.join(CATALOG)}; "
            "one of your own needs its folder named under the workload's data"
        )
    count = images or card.images
    if name != GENERATED:
        _check_count(name, count, card.images)
    size = image_size or card.image_size
    pictures, labels = generated_images(count, (card.channels, size, size), card.classes, seed)
    return Dataset(pictures, labels, card.classes, GENERATED)


def _read(name: str, card: Card | None, count: int | None, path: Path) -> Dataset:
    images, labels, source = _arrays(name, path)
    if len(images) != len(labels):
        raise DataError(f"{source}: {len(images)} images but {len(labels)} labels")
    if not len(images):
        raise DataError(f"{source}: holds no images")
    _check_count(str(source), count or len(images), len(images))
    channels = images.shape[1]
    if card is not None and channels != card.channels:
        raise DataError(f"{source}: {name} has {card.channels} channels, these have {channels}")
    classes = card.classes if card is not None else int(labels.max()) + 1
    if labels.min() < 0 or labels.max() >= classes:
        raise DataError(
            f"{source}: labels must be from 0 to {classes - 1}; "
            f"these are from {labels.min()} to {labels.max()}"
        )
    return Dataset(images[:count], labels[:count], classes, str(path))


def _arrays(name: str, path: Path) -> tuple[np.ndarray, np.ndarray, Path]:
    """Images, labels, and the file to name when they do not fit."""
    if path.is_file():
        return npz.read_npz(path)
    if not path.is_dir():
        raise DataError(f"{path}: there is no such file or folder")
    inside = path / f"{name}.npz"
    return npz.read_npz(inside) if inside.is_file() else idx.read_idx_folder(path)


def _check_count(place: str, asked: int, there: int) -> None:
    if asked > there:
        raise DataError(f"{place}: has {there} images, {asked} were asked for")


def _square(dataset: Dataset, image_size: int | None) -> Dataset:
    _, height, width = dataset.shape
    if image_size is None and height != width:
        raise DataError(
            f"{dataset.source}: images are {height}x{width}; an image_size makes them square"
        )
    size = image_size or height
    if (height, width) == (size, size):
        return dataset
    return replace(dataset, images=resized(dataset.images, size))
