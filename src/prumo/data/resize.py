"""Resizing many images at once, by the rule of Pillow's bilinear filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prumo.data.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK_PIXELS = 1 << 23
"""Of one thread, one after the other; what all threads hold is small."""
_CHUNK_PIXELS = 1 << 19
"""Of one product, so that its numbers stay in the processor's cache."""


def resized(images: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Square uint8 images of `size`, block by block, of images in the order NCHW.

    Enlarging mixes the nearest pixels linearly; shrinking first smooths, so that no detail turns
    into a pattern that is not there.
    """
    _, channels, height, width = images.shape
    if (height, width) == (size, size):
        yield images
        return
    rows = _mixture(height, size)
    columns = np.ascontiguousarray(_mixture(width, size).T)
    pixels = channels * max(height * width, size * size)
    block, chunk = (max(1, limit // pixels) for limit in (_BLOCK_PIXELS, _CHUNK_PIXELS))

    def resized_block(start: int) -> np.ndarray:
        part = images[start : start + block]
        result: np.ndarray = np.empty((len(part), channels, size, size), dtype=np.uint8)
        for first in range(0, len(part), chunk):
            mixed = rows @ (part[first : first + chunk].astype(np.float32) @ columns)
            mixed += np.float32(0.5)
            result[first : first + chunk] = mixed
        return result

    yield from in_threads(resized_block, range(0, len(images), block))


def _mixture(old: int, new: int) -> np.ndarray:
    """How much of each old pixel goes into each new one: a triangle around its centre."""
    reach = max(1.0, old / new)
    centres = (np.arange(new) + 0.5) * (old / new)
    distances = np.abs(np.arange(old) + 0.5 - centres[:, np.newaxis])
    weights = np.maximum(0.0, 1.0 - distances / reach)
    shares: np.ndarray = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return shares
