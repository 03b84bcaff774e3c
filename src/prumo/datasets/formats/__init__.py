"""The formats that data sets come in, found by looking at a path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.datasets.formats import array_file, cifar, image_folder, tfrecord
from prumo.errors import DataError

if TYPE_CHECKING:
    from prumo.datasets.source import Source


FORMATS: tuple[Callable[[Path, str], Source | None], ...] = (
    array_file.find_npz,
    array_file.find_idx,
    cifar.find,
    tfrecord.find,
    image_folder.find,
)
"""In the order in which a folder is searched; an image folder may hold anything else too.

Each finds its data set at a path by names alone: a wrong file is reported when it is read.
"""


def find_source(path: Path, dataset: str = "") -> Source:
    """The data set at a path; its name chooses between the files of a folder."""
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    for find in FORMATS:
        if source := find(path, dataset):
            return source
    raise DataError(
        f"{path}: holds no data set; Prumo reads IDX files (train-images-idx3-ubyte), CIFAR-10 "
        f"batches (data_batch_1 or its .bin, also in the .tar.gz), {dataset or 'NAME'}.npz, "
        "TFRecord files, and folders with one sub-folder of JPEG or PNG images for each class"
    )
