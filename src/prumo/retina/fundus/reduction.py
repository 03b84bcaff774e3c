"""Pictures made smaller by halves, which is many times faster than by any other factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2

if TYPE_CHECKING:
    import numpy as np


def reduced(pixels: np.ndarray, least: int) -> tuple[np.ndarray, int]:
    """Halve a picture as often as its shorter side keeps `least` pixels; with the factor taken.

    Every pixel is the mean of four, so nothing small is skipped; a last odd row or column is lost.
    """
    factor = 1
    while min(pixels.shape[:2]) >= 2 * least:
        height, width = (length // 2 for length in pixels.shape[:2])
        even = pixels[: 2 * height, : 2 * width]
        pixels = cv2.resize(even, (width, height), interpolation=cv2.INTER_AREA)
        factor *= 2
    return pixels, factor
