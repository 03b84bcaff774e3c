"""Images that nobody took, to ask two networks for the same answer. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    Ranges = tuple[tuple[float, float], ...]

_COARSE = 8
_SEED = 20
_COUNT = 6

RAW_PIXELS: Ranges = ((0.0, 255.0),)
ANY_PIXELS: Ranges = ((0.0, 1.0), (-1.0, 1.0), (0.0, 255.0))
"""For a network of which nobody knows what it wants: in the wrong range it may answer 0 and 1 to
everything, and two networks that differ would agree."""


def drawn_images(
    height: int, width: int, layout: str, dtype: str, ranges: Ranges = ANY_PIXELS
) -> np.ndarray:
    """A few images, the same ones every time: large patches of colour under fine grain."""
    numbers = np.random.default_rng(_SEED)
    images = np.concatenate(
        [
            low + (high - low) * _patterns(numbers, _COUNT // len(ranges), height, width)
            for low, high in ranges
        ]
    )
    return in_layout(images.round() if dtype == "uint8" else images, layout).astype(dtype)


def in_layout(images: np.ndarray, layout: str) -> np.ndarray:
    """Images (count, height, width, channels) as a network with another order wants them."""
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2)) if layout == "NCHW" else images


def _patterns(numbers: np.random.Generator, count: int, height: int, width: int) -> np.ndarray:
    """From 0 to 1."""
    coarse = numbers.random((count, _COARSE, _COARSE, 3))
    rows = np.arange(height) * _COARSE // height
    columns = np.arange(width) * _COARSE // width
    grain = numbers.random((count, height, width, 3))
    patterns: np.ndarray = 0.75 * coarse[:, rows][:, :, columns] + 0.25 * grain
    return patterns
