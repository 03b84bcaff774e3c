"""The circle that most of some points lie on, whatever the others do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prumo.retina.fundus.circle import Circle

if TYPE_CHECKING:
    from collections.abc import Callable

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


def agreed_circle(
    points: np.ndarray, is_plausible: Callable[[np.ndarray], np.ndarray]
) -> Circle | None:
    """The plausible circle through three points that most points lie on (Fischler, Bolles 1981).

    Args:
        points: Rows of x and y.
        is_plausible: Tells for rows of x, y and radius which of them may be the circle.
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


def distance_from(circle: Circle, points: np.ndarray) -> np.ndarray:
    """Of each point from the circle's line, in pixels."""
    towards = points - (circle.x, circle.y)
    distance: np.ndarray = np.abs(np.hypot(towards[:, 0], towards[:, 1]) - circle.radius)
    return distance


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
