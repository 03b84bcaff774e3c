"""Photographs of a fundus that nobody owns: drawn, with a known circle and lesions by grade.

They are believable enough for finding the fundus, for judging the quality of a photograph and for
training a network on something that can be learned. They say nothing about medicine.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from prumo_retina.fundus.circle import Circle

RED_DOTS = (0, 6, 16, 34, 50)
YELLOW_SPOTS = (0, 0, 8, 16, 24)
BLEEDINGS = (0, 0, 0, 3, 8)
"""How many lesions of each kind grades 0 to 4 have."""
BACKGROUND = (196, 98, 28)
VESSEL = (132, 38, 14)
OPTIC_DISC = (250, 190, 96)
RED = (112, 18, 10)
YELLOW = (244, 214, 120)
SHADING_SIZE = 64
LANDSCAPE_RATIO = 1.2
"""From this ratio of width to height on, the circle is cut at the top and at the bottom."""


@dataclass(frozen=True)
class Fundus:
    """A drawn photograph, RGB uint8, and where its fundus truly is."""

    pixels: np.ndarray
    circle: Circle


def fundus(  # noqa: PLR0913 (each is a fault that a photograph can have)
    width: int,
    height: int,
    *,
    grade: int = 0,
    seed: int = 1,
    brightness: float = 1.0,
    blur: float = 0.0,
    cut_off: float = 0.0,
) -> Fundus:
    """Draw one; the same arguments give the same pixels.

    Args:
        width: In pixels; 4288 by 2848 looks like IDRiD, a square holds the whole circle.
        height: In pixels.
        grade: 0 to 4; the higher, the more lesions.
        seed: Another seed is another eye.
        brightness: Of the fundus, 1 for a good photograph, 0.1 for one that is too dark.
        blur: Standard deviation of the blur as a share of the radius, 0.03 is clearly blurred.
        cut_off: Share of the diameter that is shifted out of the photograph to the left.
    """
    generator = np.random.default_rng((seed, grade))
    circle = _placed(width, height, generator, cut_off)
    retina = _retina(circle.radius, grade, generator)
    if blur:
        retina = cv2.GaussianBlur(retina, (0, 0), blur * circle.radius)
    retina = cv2.convertScaleAbs(retina, alpha=brightness)
    _darken_outside(retina, circle.radius)
    return Fundus(_noisy(_pasted(retina, circle, width, height), generator), circle)


def no_fundus(width: int, height: int, *, seed: int = 1) -> np.ndarray:
    """A photograph that a closed lid makes: dark red, brighter towards one side, no circle."""
    generator = np.random.default_rng(seed)
    across = np.linspace(20, 60, width, dtype=np.float32)
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0] = across
    pixels[..., 1] = across / 3
    return _noisy(pixels, generator)


def _placed(width: int, height: int, generator: np.random.Generator, cut_off: float) -> Circle:
    if width >= LANDSCAPE_RATIO * height:
        radius = min(0.4 * width, 0.6 * height)
    else:
        radius = 0.46 * min(width, height)
    shift_x, shift_y = generator.uniform(-0.02, 0.02, 2) * radius
    x = (width / 2 + shift_x) if not cut_off else radius * (1 - 2 * cut_off)
    return Circle(float(x), float(height / 2 + shift_y), radius)


def _retina(radius: float, grade: int, generator: np.random.Generator) -> np.ndarray:
    """A square that holds the whole circle."""
    side = int(2 * radius) + 1
    tint = np.clip(np.array(BACKGROUND) * generator.uniform(0.9, 1.1, 3), 0, 255)
    canvas = np.full((side, side, 3), tint.astype(np.uint8))
    side_of_disc = generator.choice((-1, 1))
    disc = radius * np.array([1 + 0.5 * side_of_disc, 1 + generator.uniform(-0.1, 0.1)])
    _dot(canvas, disc, 0.15 * radius, OPTIC_DISC)
    _draw_vessels(canvas, disc, radius, -side_of_disc, generator)
    _draw_lesions(canvas, radius, grade, generator)
    return cv2.multiply(canvas, _shading(side, generator), dtype=cv2.CV_8U)


def _draw_vessels(
    canvas: np.ndarray,
    disc: np.ndarray,
    radius: float,
    towards: int,
    generator: np.random.Generator,
) -> None:
    """Four arcades that leave the disc, each thinning out and branching on its way."""
    for up_or_down in (-1, 1):
        for reach in (0.55, 0.95):
            start = np.array([0.0, up_or_down * 0.1])
            bend = np.array([towards * 0.3, up_or_down * reach]) * generator.uniform(0.8, 1.2, 2)
            end = np.array([towards * 1.2, up_or_down * reach * 0.9])
            trunk = _curve(start, bend, end) * radius + disc
            _stroke(canvas, trunk, 0.030 * radius)
            for point in trunk[6::5]:
                spread = generator.uniform(-0.5, 0.5, (2, 2))
                branch = _curve(np.zeros(2), spread[0], spread[0] + spread[1]) * radius + point
                _stroke(canvas, branch, 0.012 * radius)


def _curve(start: np.ndarray, bend: np.ndarray, end: np.ndarray) -> np.ndarray:
    """A quadratic Bézier curve as 24 points."""
    t = np.linspace(0, 1, 24)[:, None]
    points: np.ndarray = (1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t**2 * end
    return points


def _stroke(canvas: np.ndarray, points: np.ndarray, width: float) -> None:
    rounded = points.round().astype(np.int32)
    for step, (first, second) in enumerate(pairwise(rounded)):
        thickness = max(1, round(width * (1 - 0.6 * step / len(rounded))))
        cv2.line(canvas, first.tolist(), second.tolist(), VESSEL, thickness, cv2.LINE_AA)


def _draw_lesions(
    canvas: np.ndarray, radius: float, grade: int, generator: np.random.Generator
) -> None:
    for count, share, colour in (
        (BLEEDINGS[grade], 0.060, RED),
        (RED_DOTS[grade], 0.018, RED),
        (YELLOW_SPOTS[grade], 0.022, YELLOW),
    ):
        for _ in range(count):
            angle, distance = generator.uniform(0, 2 * np.pi), generator.uniform(0.1, 0.85)
            centre = radius * (1 + distance * np.array([np.cos(angle), np.sin(angle)]))
            _dot(canvas, centre, share * radius * generator.uniform(0.7, 1.3), colour)


def _dot(
    canvas: np.ndarray, centre: np.ndarray, radius: float, colour: tuple[int, int, int]
) -> None:
    middle = centre.round().astype(int).tolist()
    cv2.circle(canvas, middle, max(1, round(radius)), colour, cv2.FILLED, cv2.LINE_AA)


def _shading(side: int, generator: np.random.Generator) -> np.ndarray:
    """Factors by pixel: darker towards the rim and at the macula, uneven as a choroid is."""
    steps = np.linspace(-1, 1, SHADING_SIZE, dtype=np.float32)
    squared = steps[:, None] ** 2 + steps[None, :] ** 2
    uneven = cv2.resize(generator.normal(0, 0.08, (9, 9)).astype(np.float32), steps.shape * 2)
    factors = 1 - 0.35 * np.clip(squared, 0, 1) - 0.25 * np.exp(-squared / 0.02) + uneven
    return np.dstack([cv2.resize(factors, (side, side))] * 3)


def _darken_outside(retina: np.ndarray, radius: float) -> None:
    mask = np.zeros(retina.shape[:2], np.uint8)
    # Four fractional bits, so that the rim is where the circle says and not at a whole pixel.
    fixed = round(radius * 16)
    cv2.circle(mask, (fixed, fixed), fixed, 255, cv2.FILLED, cv2.LINE_AA, shift=4)
    cv2.multiply(retina, cv2.cvtColor(mask, cv2.COLOR_GRAY2RGB), retina, scale=1 / 255)


def _pasted(retina: np.ndarray, circle: Circle, width: int, height: int) -> np.ndarray:
    """The square moved to where the circle is, on a black photograph."""
    # A circle counts from the corner of the first pixel, a warp from its middle.
    x, y = circle.x - circle.radius - 0.5, circle.y - circle.radius - 0.5
    move = np.array([[1, 0, x], [0, 1, y]], np.float32)
    return cv2.warpAffine(retina, move, (width, height), flags=cv2.INTER_LINEAR)


def _noisy(pixels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """With the grain of a camera, the black border a little above zero."""
    grain = generator.standard_normal(pixels.shape[:2], np.float32) * 2 + 2
    return cv2.add(pixels, cv2.cvtColor(grain, cv2.COLOR_GRAY2RGB), dtype=cv2.CV_8U)
