"""Two ways to find the fundus in a photograph: by its outer contour, or by its rim.

The contour is that of Voets, Møllersen and Bongo (PLOS ONE, 2019), on any scale: raise the
contrast, grey, outer contours, the largest of them; the radius is that of its minimum enclosing
circle, the centre that of its moments.

The rim is the circle that most of its points lie on, however bright each part of it is. Seen from
outside, the first pixels above some level of brightness are on the rim, but for haze, letters and
shadows. These move with the level and the rim stays: the circle that most of the pixels agree on
over several levels is the fundus. The steepest descents of brightness place it finely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

from prumo_retina.fundus.circle import Circle, reduced

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_retina.fundus.choices import Method

TOLERANCE = 0.015
"""Of the radius: how far from a circle a point still lies on it."""

_POINTS_PER_CIRCLE = 3
_TRIALS = 200
_VOTERS = 500
"""Points that are asked about each trial; more would only cost time."""
_FIT_STEPS = 6
_TUKEY_LIMIT = 4.685
_MEDIAN_TO_SIGMA = 1.4826
"""Tukey's biweight keeps 95 % efficiency at this limit; the factor is that of a normal distribution
(P. J. Huber, Robust Statistics, 1981)."""
_LEAST_SPREAD_PIXELS = 0.1
_DAMPING = 1e-6 * np.eye(3)

_WORKING_PIXELS = 160
"""Of the shorter side, at least: the rim is found to a fraction of a pixel in a small picture."""
_LEAST_PIXELS = 32
_MOST_PIXELS = 32_766
"""A side that OpenCV can sample; only a strip is longer with so short a shorter side."""
_LEAST_CONTRAST = 4
"""Levels of brightness between background and fundus."""
_LEVELS = (0.08, 0.15, 0.25, 0.4, 0.55)
"""Between those of the background (0) and of the fundus (1)."""
_BORDER_PIXELS = 3
"""Where a photograph ends, so does what is bright in it: that is no rim."""
_LEAST_RADIUS = 0.15
"""Of the shorter side."""
_MOST_RADIUS = 0.6
"""Of the diagonal; a circle of half of it leaves no corner outside."""
_REACHES = (0.08, 0.03)
"""Of the radius: how far from the circle its rim is looked for, at first and then."""
_RAYS = 360
_STEP_PIXELS = 0.5
_WINDOW_STEPS = 6
"""The brightness on both sides of a descent is averaged over so many steps."""
_CLEAR_DESCENT = 0.25
"""Of the usual one: what falls less is no rim."""
_LEAST_SUPPORT = 0.4
"""Share of the rays in the picture that must meet a rim on the circle."""

LEAST_RADIUS_PIXELS = 100
"""Of the whole photograph; at this and below, Voets 2019 rejects what was found."""

# Voets 2019 squares the intensities: 255 / 1.3 · (level / (255 / 1.5))².
_RAISED_CONTRAST = np.clip(255 / 1.3 * (np.arange(256) / (255 / 1.5)) ** 2, 0, 255).astype(np.uint8)


def find_fundus(pixels: np.ndarray, method: Method, scale: float = 1.0) -> Circle | None:
    """Its circle in the given RGB pixels, or None; `scale` is theirs, as of a `Photograph`."""
    return find_by_rim(pixels) if method == "rim" else find_by_contour(pixels, scale)


def agreed_circle(
    points: np.ndarray, is_plausible: Callable[[np.ndarray], np.ndarray]
) -> Circle | None:
    """The plausible circle through three points that most points lie on (Fischler, Bolles 1981).

    Points are rows of x and y; `is_plausible` is asked about rows of x, y and radius.
    """
    if len(points) < _POINTS_PER_CIRCLE:
        return None
    choice = np.random.default_rng(1).integers(0, len(points), (_TRIALS, _POINTS_PER_CIRCLE))
    circles = _through(points[choice])
    circles = circles[is_plausible(circles)]
    if not len(circles):
        return None
    voters = points[:: len(points) // _VOTERS + 1]
    best = _votes(circles, voters).argmax()
    return Circle(*map(float, circles[best]))


def fitted_circle(points: np.ndarray, start: Circle) -> Circle:
    """The circle with the least distances from points, far ones counting little or nothing."""
    x, y, radius = start.x, start.y, start.radius
    for _ in range(_FIT_STEPS):
        towards = points - (x, y)
        distance = np.hypot(towards[:, 0], towards[:, 1])
        off = distance - radius
        spread = max(_MEDIAN_TO_SIGMA * float(np.median(np.abs(off))), _LEAST_SPREAD_PIXELS)
        weight = (1 - (off / (_TUKEY_LIMIT * spread)) ** 2).clip(0) ** 2
        slopes = np.column_stack([towards / distance[:, None], np.ones(len(points))])
        weighted = slopes.T * weight
        step = np.linalg.solve(weighted @ slopes + _DAMPING, weighted @ off)
        x, y, radius = x + step[0], y + step[1], radius + step[2]
    return Circle(float(x), float(y), float(radius))


def _through(triples: np.ndarray) -> np.ndarray:
    """Rows of x, y and radius of circles through three points; not finite for three in line."""
    first = triples[:, 0]
    (ax, ay), (bx, by) = (triples[:, 1] - first).T, (triples[:, 2] - first).T
    a_square, b_square = ax**2 + ay**2, bx**2 + by**2
    with np.errstate(divide="ignore", invalid="ignore"):
        area = 2 * (ax * by - ay * bx)
        x, y = (by * a_square - ay * b_square) / area, (ax * b_square - bx * a_square) / area
    return np.column_stack([first[:, 0] + x, first[:, 1] + y, np.hypot(x, y)])


def _votes(circles: np.ndarray, points: np.ndarray) -> np.ndarray:
    """How many points lie on each circle."""
    centres, radius = circles[:, :2], circles[:, 2:]
    squares = (centres**2).sum(axis=1)[:, None] + (points**2).sum(axis=1)
    distance_squared = squares - 2 * centres @ points.T
    on_circle = distance_squared > ((1 - TOLERANCE) * radius) ** 2
    on_circle &= distance_squared < ((1 + TOLERANCE) * radius) ** 2
    votes: np.ndarray = np.count_nonzero(on_circle, axis=1)
    return votes


def find_by_rim(pixels: np.ndarray) -> Circle | None:
    """The circle of the rim, or None when too little of one is to be seen."""
    if min(pixels.shape[:2]) < _LEAST_PIXELS:
        return None
    small, reduction = reduced(pixels, _WORKING_PIXELS)
    if max(small.shape) > _MOST_PIXELS:
        return None
    # Of the brightest channel, without grain and thin letters.
    brightness = cv2.medianBlur(small.max(axis=2), 5)
    circle = agreed_circle(
        _outermost_points(brightness), lambda circles: _is_plausible(circles, brightness.shape)
    )
    for reach in _REACHES:
        circle = circle and _refined(circle, brightness, reach)
    return circle.scaled(reduction) if circle else None


def _outermost_points(brightness: np.ndarray) -> np.ndarray:
    """Rows of x and y: where lines first and last exceed a level, but not at the border."""
    dark, bright = _dark_and_bright(brightness)
    if bright - dark < _LEAST_CONTRAST:
        return np.empty((0, 2))
    across = np.ascontiguousarray(brightness.T)
    points = []
    for level in _LEVELS:
        limit = dark + level * (bright - dark)
        points += [_ends_of_rows(brightness > limit), _ends_of_rows(across > limit)[:, ::-1]]
    found = np.concatenate(points)
    in_picture: np.ndarray = found[_is_in_picture(found, brightness)]
    return in_picture


def _dark_and_bright(brightness: np.ndarray) -> tuple[float, float]:
    """Levels of the background and of the fundus."""
    some = np.ascontiguousarray(brightness[::2, ::2])
    between, _ = cv2.threshold(some, 0, 255, cv2.THRESH_BINARY | cv2.THRESH_OTSU)
    above = some[some > between]
    return float(np.percentile(some, 2)), float(np.median(above)) if above.size else 0.0


def _ends_of_rows(mask: np.ndarray) -> np.ndarray:
    """Rows of x and y: the outer edges of the first and the last pixel in each row of a mask."""
    rows = np.flatnonzero(mask.any(axis=1))
    mask = mask[rows]
    first = mask.argmax(axis=1)
    last = mask.shape[1] - mask[:, ::-1].argmax(axis=1)
    return np.column_stack([np.concatenate([first, last]), np.tile(rows + 0.5, 2)])


def _is_in_picture(points: np.ndarray, brightness: np.ndarray) -> np.ndarray:
    """Whether each point keeps away from the border."""
    most = np.array(brightness.shape[::-1]) - _BORDER_PIXELS
    x, y = ((points > _BORDER_PIXELS) & (points < most)).T
    in_picture: np.ndarray = x & y
    return in_picture


def _is_plausible(circles: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Whether each row of x, y and radius has its middle in the picture and a fundus's size."""
    height, width = shape
    x, y, radius = circles.T
    is_plausible: np.ndarray = (x > 0) & (x < width) & (y > 0) & (y < height)
    is_plausible &= radius > _LEAST_RADIUS * min(shape)
    is_plausible &= radius < _MOST_RADIUS * np.hypot(height, width)
    return is_plausible


def _refined(circle: Circle, brightness: np.ndarray, reach: float) -> Circle | None:
    """The circle through the steepest descents near it, or None when too few rays have one."""
    points, falls = _steepest_descents(circle, brightness, reach)
    in_picture = _is_in_picture(points, brightness)
    if not in_picture.any():
        return None
    usual_fall = float(np.median(falls[in_picture]))
    is_rim = in_picture & (falls > max(_LEAST_CONTRAST / 2, _CLEAR_DESCENT * usual_fall))
    found = fitted_circle(points[is_rim], circle) if is_rim.any() else circle
    distances = np.hypot(*(points - (found.x, found.y)).T)
    is_on_circle = np.abs(distances - found.radius) < TOLERANCE * found.radius
    support = np.count_nonzero(is_rim & is_on_circle) / np.count_nonzero(in_picture)
    is_plausible = _is_plausible(np.array([[found.x, found.y, found.radius]]), brightness.shape)
    return found if support >= _LEAST_SUPPORT and is_plausible.all() else None


def _steepest_descents(
    circle: Circle, brightness: np.ndarray, reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """Where brightness falls most on each ray from the centre, and by how much."""
    angles = np.arange(_RAYS) * (2 * np.pi / _RAYS)
    outwards = np.column_stack([np.cos(angles), np.sin(angles)])
    half = round(reach * circle.radius / _STEP_PIXELS) + _WINDOW_STEPS
    radii = circle.radius + _STEP_PIXELS * np.arange(-half, half + 1)
    falls = _falls(_sampled(circle, brightness, outwards, radii))
    steepest = falls.argmax(axis=1)
    # The fall at index k is between the samples k + window - 1 and k + window.
    steps = steepest + _peak_offset(falls, steepest) + _WINDOW_STEPS - 0.5
    distances = radii[0] + _STEP_PIXELS * steps
    points = np.array([circle.x, circle.y]) + distances[:, None] * outwards
    return points, falls.max(axis=1)


def _sampled(
    circle: Circle, brightness: np.ndarray, outwards: np.ndarray, radii: np.ndarray
) -> np.ndarray:
    """Brightness along each ray (row) at each radius (column)."""
    # A circle counts from the corner of the first pixel, the sampler from its middle.
    x = circle.x - 0.5 + outwards[:, :1] * radii
    y = circle.y - 0.5 + outwards[:, 1:] * radii
    return cv2.remap(
        brightness,
        x.astype(np.float32),
        y.astype(np.float32),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    ).astype(np.float32)


def _falls(profiles: np.ndarray) -> np.ndarray:
    """By how much the windows before each place of a row are brighter than those behind it."""
    sums = np.pad(profiles.cumsum(axis=1), ((0, 0), (1, 0)))
    windows = (sums[:, _WINDOW_STEPS:] - sums[:, :-_WINDOW_STEPS]) / _WINDOW_STEPS
    falls: np.ndarray = windows[:, :-_WINDOW_STEPS] - windows[:, _WINDOW_STEPS:]
    return falls


def _peak_offset(values: np.ndarray, peaks: np.ndarray) -> np.ndarray:
    """How far each row's peak is from the vertex of the parabola through it and its neighbours."""
    rows = np.arange(len(values))
    peaks = peaks.clip(1, values.shape[1] - 2)
    before, peak, after = (values[rows, peaks + step] for step in (-1, 0, 1))
    bend = 2 * peak - before - after
    offset: np.ndarray = np.where(bend > 0, 0.5 * (after - before) / np.maximum(bend, 1e-6), 0.0)
    return offset.clip(-1, 1)


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
