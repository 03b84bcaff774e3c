"""Images and labels from one npz file, without ever unpickling."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING

import numpy as np

from prumo_worker.failure import DataError

if TYPE_CHECKING:
    from pathlib import Path

_KEYS = (("x_train", "y_train"), ("images", "labels"), ("x", "y"))
_CHANNELS = (1, 3)
_WITHOUT_CHANNELS = 3
_WITH_CHANNELS = 4


def read_npz(file: Path) -> tuple[np.ndarray, np.ndarray, Path]:
    """Images as (image, channel, row, column), their labels, and the file.

    Images may lie as (image, row, column), (image, row, column, channel) or (image, channel, row,
    column). Where both of the latter are possible, the channels are taken to come last.
    """
    try:
        with np.load(file, allow_pickle=False) as arrays:
            image_key, label_key = _keys(file, arrays.files)
            images, labels = arrays[image_key], arrays[label_key]
    except DataError:
        raise
    except (OSError, ValueError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{file}: is not a whole npz file of plain arrays: {error}") from error
    return _channels_first(file, images), _flat(file, labels), file


def _keys(file: Path, there: list[str]) -> tuple[str, str]:
    for pair in _KEYS:
        if all(key in there for key in pair):
            return pair
    pairs = ", ".join("/".join(pair) for pair in _KEYS)
    raise DataError(f"{file}: holds {', '.join(there) or 'nothing'}; needs one pair of {pairs}")


def _channels_first(file: Path, images: np.ndarray) -> np.ndarray:
    if images.dtype != np.uint8:
        raise DataError(f"{file}: images must be uint8, these are {images.dtype}")
    if images.ndim == _WITHOUT_CHANNELS:
        return images[:, np.newaxis]
    if images.ndim == _WITH_CHANNELS and images.shape[3] in _CHANNELS:
        images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    if images.ndim != _WITH_CHANNELS or images.shape[1] not in _CHANNELS:
        raise DataError(f"{file}: no images of 1 or 3 channels have the shape {images.shape}")
    return images


def _flat(file: Path, labels: np.ndarray) -> np.ndarray:
    if labels.dtype.kind not in "iu":
        raise DataError(f"{file}: labels must be whole numbers, these are {labels.dtype}")
    if labels.ndim != 1 and labels.shape[1:] != (1,):
        raise DataError(f"{file}: needs one label for each image, not the shape {labels.shape}")
    return labels.reshape(-1).astype(np.int64)
