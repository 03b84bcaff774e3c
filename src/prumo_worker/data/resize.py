"""Bilinear resizing, the same for every framework and done before any clock runs."""

from __future__ import annotations

import numpy as np

_CHUNK_PIXELS = 1 << 22


def resized(images: np.ndarray, size: int) -> np.ndarray:
    """Square uint8 images of `size`, with pixel centres at half coordinates and no smoothing."""
    count, channels, height, width = images.shape
    result: np.ndarray = np.empty((count, channels, size, size), dtype=np.uint8)
    rows = _neighbours(height, size)
    columns = _neighbours(width, size)
    # In chunks: the float intermediates of a whole data set would not fit in memory.
    chunk = max(1, _CHUNK_PIXELS // (channels * max(height * width, size * size)))
    for start in range(0, count, chunk):
        part = slice(start, start + chunk)
        mixed = _mix(_mix(images[part].astype(np.float32), rows, axis=2), columns, axis=3)
        result[part] = np.rint(mixed)
    return result


def _neighbours(old: int, new: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each new place the two old ones that it lies between, and the share of the second."""
    place = np.clip((np.arange(new) + 0.5) * (old / new) - 0.5, 0, old - 1)
    first = np.floor(place).astype(np.int64)
    second = np.minimum(first + 1, old - 1)
    return first, second, (place - first).astype(np.float32)


def _mix(
    images: np.ndarray, neighbours: tuple[np.ndarray, np.ndarray, np.ndarray], axis: int
) -> np.ndarray:
    first, second, share = neighbours
    along = share.reshape([-1 if dimension == axis else 1 for dimension in range(images.ndim)])
    mixed: np.ndarray = images.take(first, axis) * (1 - along) + images.take(second, axis) * along
    return mixed
