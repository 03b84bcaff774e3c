"""How well two circles agree: what found fundi are judged by, in benchmarks and tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prumo_retina.fundus.circle import Circle


def intersection_over_union(one: Circle, other: Circle) -> float:
    """How well two circles agree: 1 when they are the same, 0 when they do not touch."""
    shared = _shared_area(one, other)
    return shared / (_area(one) + _area(other) - shared)


def _shared_area(one: Circle, other: Circle) -> float:
    """Of the lens that two circles have in common: a segment of each."""
    distance = math.hypot(one.x - other.x, one.y - other.y)
    if distance >= one.radius + other.radius:
        return 0.0
    if distance <= abs(one.radius - other.radius):
        return min(_area(one), _area(other))
    return _segment_area(one.radius, other.radius, distance) + _segment_area(
        other.radius, one.radius, distance
    )


def _segment_area(radius: float, other_radius: float, distance: float) -> float:
    """What the chord through both crossings cuts off a circle, on the side of the other one."""
    to_chord = (distance**2 + radius**2 - other_radius**2) / (2 * distance)
    angle = math.acos(max(-1.0, min(1.0, to_chord / radius)))
    return radius**2 * (angle - math.sin(angle) * math.cos(angle))


def _area(circle: Circle) -> float:
    return math.pi * circle.radius**2
