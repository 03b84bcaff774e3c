"""The circle of a fundus in a photograph."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Circle:
    """In pixels of the whole photograph, whatever size it was decoded at.

    They count from the corner of the first pixel: a photograph reaches from 0 to its width.
    """

    x: float
    y: float
    radius: float

    @property
    def area(self) -> float:
        """In square pixels."""
        return math.pi * self.radius**2

    def scaled(self, factor: float) -> Circle:
        """The same circle in a photograph of another size."""
        return Circle(self.x * factor, self.y * factor, self.radius * factor)


def intersection_over_union(one: Circle, other: Circle) -> float:
    """How well two circles agree: 1 when they are the same, 0 when they do not touch."""
    shared = _shared_area(one, other)
    return shared / (one.area + other.area - shared)


def _shared_area(one: Circle, other: Circle) -> float:
    """Of the lens that two circles have in common: a segment of each."""
    distance = math.hypot(one.x - other.x, one.y - other.y)
    if distance >= one.radius + other.radius:
        return 0.0
    if distance <= abs(one.radius - other.radius):
        return min(one.area, other.area)
    return _segment_area(one.radius, other.radius, distance) + _segment_area(
        other.radius, one.radius, distance
    )


def _segment_area(radius: float, other_radius: float, distance: float) -> float:
    """What the chord through both crossings cuts off a circle, on the side of the other one."""
    to_chord = (distance**2 + radius**2 - other_radius**2) / (2 * distance)
    angle = math.acos(max(-1.0, min(1.0, to_chord / radius)))
    return radius**2 * (angle - math.sin(angle) * math.cos(angle))


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
