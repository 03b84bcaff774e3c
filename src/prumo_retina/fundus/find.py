"""The fundus as the largest outer contour, after Voets, Møllersen and Bongo (PLOS ONE, 2019).

Their steps on any scale: raise the contrast, grey, outer contours, the largest of them; the radius
is that of its minimum enclosing circle, the centre that of its moments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

from prumo_retina.fundus.circle import Circle
from prumo_retina.fundus.rim import find_by_rim

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_retina.fundus.preparation import Method


LEAST_RADIUS_PIXELS = 100
"""Of the whole photograph; at this and below, Voets 2019 rejects what was found."""

# Voets 2019 squares the intensities: 255 / 1.3 · (level / (255 / 1.5))².
_RAISED_CONTRAST = np.clip(255 / 1.3 * (np.arange(256) / (255 / 1.5)) ** 2, 0, 255).astype(np.uint8)


def find_by_contour(pixels: np.ndarray, scale: float) -> Circle | None:
    """The circle around the largest bright region, or None when there is none large enough."""
    grey = cv2.cvtColor(cv2.LUT(pixels, _RAISED_CONTRAST), cv2.COLOR_RGB2GRAY)
    contours, _ = cv2.findContours(grey, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    if not contours:
        return None
    largest = max(contours, key=cv2.contourArea)
    _, radius = cv2.minEnclosingCircle(largest)
    moments = cv2.moments(largest)
    if radius <= LEAST_RADIUS_PIXELS * scale or not moments["m00"]:
        return None
    # A contour runs through the middles of pixels, whose corners a circle counts from.
    return Circle(
        x=moments["m10"] / moments["m00"] + 0.5,
        y=moments["m01"] / moments["m00"] + 0.5,
        radius=radius + 0.5,
    )


_METHODS: dict[Method, Callable[[np.ndarray, float], Circle | None]] = {
    "rim": find_by_rim,
    "voets": find_by_contour,
}


def find_fundus(pixels: np.ndarray, method: Method, scale: float = 1.0) -> Circle | None:
    """Its circle in the given RGB pixels, or None; `scale` is theirs, as of a `Photograph`."""
    return _METHODS[method](pixels, scale)
