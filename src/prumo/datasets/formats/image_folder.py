"""A folder with one sub-folder of JPEG or PNG images for each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar

import numpy as np

from prumo.datasets.image import Encoded, EncodedPictures
from prumo.datasets.source import Source, Subset, reading
from prumo.errors import DataError

_SUFFIXES = {".jpg", ".jpeg", ".png"}
_TRAINING = "train"


def find(path: Path, _dataset: str) -> ImageFolderSource | None:
    """Any folder with images in it or in a sub-folder; its sub-folder `train` if there is one."""
    if not path.is_dir():
        return None
    folder = path / _TRAINING if (path / _TRAINING).is_dir() else path
    places = [folder, *_folders(folder)]
    has_images = any(_is_image(file) for place in places for file in place.iterdir())
    return ImageFolderSource(path, folder) if has_images else None


@dataclass(frozen=True)
class ImageFolderSource(Source):
    """Classes are the sub-folders by name, numbered from 0.

    Images come in turns, the first of every class, then the second: so that any number of images
    holds all classes.
    """

    folder: Path
    kind: ClassVar[str] = "image folder"

    def files(self, subset: Subset) -> list[Path]:
        """The images that the subset chooses: others need not even be read."""
        for fault in self._empty_classes:
            raise DataError(fault)
        labels, files = self._listing
        return [files[position] for position in subset.positions(labels, self.folder)]

    def read(self) -> EncodedPictures:
        """Labels and class names come from the names of the folders alone."""
        labels, files = self._listing

        def encoded(positions: Sequence[int]) -> Iterator[Encoded]:
            return ((str(files[at]), partial(_content, files[at])) for at in positions)

        return EncodedPictures(labels, encoded, self._empty_classes)

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The names of the sub-folders."""
        return tuple(folder.name for folder in _folders(self.folder))

    @cached_property
    def _empty_classes(self) -> tuple[str, ...]:
        """What is wrong with folders that have no image; `prumo data check` reports all."""
        return tuple(
            f"{folder}: the folder of a class holds no JPEG or PNG images"
            for folder in _folders(self.folder)
            if not _images(folder)
        )

    @cached_property
    def _listing(self) -> tuple[np.ndarray, list[Path]]:
        classes = [_images(folder) for folder in _folders(self.folder)]
        if not classes:
            raise DataError(
                f"{self.folder}: its images must lie in one sub-folder for each class, "
                "such as cats/1.jpg and dogs/1.jpg"
            )
        turns = [
            (label, file)
            for turn in zip_longest(*classes)
            for label, file in enumerate(turn)
            if file is not None
        ]
        labels: np.ndarray = np.array([label for label, _ in turns], dtype=np.int64)
        return labels, [file for _, file in turns]


def _folders(folder: Path) -> list[Path]:
    return sorted(
        inside for inside in folder.iterdir() if inside.is_dir() and not inside.name.startswith(".")
    )


def _images(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if _is_image(file))


def _is_image(file: Path) -> bool:
    if file.suffix.lower() not in _SUFFIXES or file.name.startswith("."):
        return False
    # A link that leads nowhere is an image that was lost, and is reported when it is read.
    return file.is_file() or file.is_symlink()


def _content(file: Path) -> bytes:
    with reading(file):
        return file.read_bytes()
