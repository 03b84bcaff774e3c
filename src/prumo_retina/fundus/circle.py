"""The circle of a fundus in a photograph, and the square that is cut out around it."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np


@dataclass(frozen=True)
class Circle:
    """In pixels of the whole photograph, whatever size it was decoded at.

    They count from the corner of the first pixel: a photograph reaches from 0 to its width.
    """

    x: float
    y: float
    radius: float

    def scaled(self, factor: float) -> Circle:
        """The same circle in a photograph of another size."""
        return Circle(self.x * factor, self.y * factor, self.radius * factor)


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


@dataclass(frozen=True)
class CutOut:
    """The fundus, as wide and as high as the square; black beside it."""

    pixels: np.ndarray
    visible: np.ndarray
    """True where the square shows the fundus, False beside it and outside of the photograph."""


def cut_out(pixels: np.ndarray, circle: Circle, size: int) -> CutOut:
    """Scale the circle of the fundus, in the given pixels, to a diameter of `size`."""
    side = 2 * max(1, round(circle.radius))
    left, top = round(circle.x - side / 2), round(circle.y - side / 2)
    square, _ = reduced(_window(pixels, left, top, side), size)
    # Every pixel counts by the area that it covers, so that no small lesion falls between two.
    interpolation = cv2.INTER_AREA if side >= size else cv2.INTER_LINEAR
    scaled = cv2.resize(square, (size, size), interpolation=interpolation)
    # Pixels of the square whose middles are on the disc and in the photograph.
    middles = (np.arange(size) + 0.5) * side / size
    height, width = pixels.shape[:2]
    in_rows = (top + middles > 0) & (top + middles < height)
    in_columns = (left + middles > 0) & (left + middles < width)
    visible = disc(size) & in_rows[:, None] & in_columns
    return CutOut(cv2.copyTo(scaled, visible.view(np.uint8)), visible)


def disc(size: int, share: float = 1.0) -> np.ndarray:
    """Which pixels of a square are on a disc in its middle; `share` is of the side."""
    squared = (np.arange(size) + 0.5 - size / 2) ** 2
    on_disc: np.ndarray = squared[:, None] + squared <= (share * size / 2) ** 2
    return on_disc


def _window(pixels: np.ndarray, left: int, top: int, side: int) -> np.ndarray:
    """A square of the photograph; what is outside of it repeats its border."""
    height, width = pixels.shape[:2]
    inside = pixels[max(0, top) : max(0, top + side), max(0, left) : max(0, left + side)]
    return cv2.copyMakeBorder(
        inside,
        max(0, -top),
        max(0, top + side - height),
        max(0, -left),
        max(0, left + side - width),
        cv2.BORDER_REPLICATE,
    )
