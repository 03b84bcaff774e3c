"""Where the name of a point finds room: computed in pixels, so that no name covers another."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Box = tuple[float, float, float, float]
    """The left, lower, right and upper end."""

# How much of the plot stays free around the points.
MARGIN = 0.14
ROOM_RATIO = 1.05
# A generous letter and line of 11 pixels, and how far a name stands from its point.
LETTER_PIXELS, LINE_PIXELS, AWAY_PIXELS = 6.6, 13.0, 13.0
POINT_PIXELS = 5.0


@dataclass(frozen=True)
class PixelAxis:
    """An axis of which the pixel of every value is known."""

    low: float
    high: float
    logarithmic: bool
    pixels: int

    @classmethod
    def of(cls, values: Sequence[float], pixels: int, *, logarithmic: bool) -> PixelAxis:
        """An axis with some room on both sides of the values."""
        low, high = min(values), max(values)
        if logarithmic:
            room = (high / low) ** MARGIN * ROOM_RATIO
            return cls(low / room, high * room, True, pixels)
        room = MARGIN * ((high - low) or abs(high) or 1.0)
        return cls(low - room if low > high / 2 else 0.0, high + room, False, pixels)

    def pixel(self, value: float) -> float:
        """How far from the low end a value lies."""
        if self.logarithmic:
            return self.pixels * log(value / self.low) / log(self.high / self.low)
        return self.pixels * (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Place:
    """Where the middle of a name is, in pixels from the left and from below."""

    name: str
    x: float
    y: float

    @property
    def box(self) -> Box:
        """Where the name lies."""
        half = len(self.name) * LETTER_PIXELS / 2
        return self.x - half, self.y - LINE_PIXELS / 2, self.x + half, self.y + LINE_PIXELS / 2


def free_places(
    names: Sequence[str],
    points: Sequence[tuple[float, float]],
    size: tuple[int, int],
    lines: Sequence[Box] = (),
) -> list[Place]:
    """A place beside each named point, the first names first; a name without room is left out.

    Points beyond the names have none, and are not to be covered either. A name lies on a line only
    where there is no other room.
    """
    taken = [
        (x - POINT_PIXELS, y - POINT_PIXELS, x + POINT_PIXELS, y + POINT_PIXELS) for x, y in points
    ]
    found = []
    for name, (x, y) in zip(names, points, strict=False):
        free = [place for place in _around(name, x, y) if _is_free(place.box, taken, size)]
        clear = (place for place in free if _is_free(place.box, lines, size))
        if (place := next(clear, next(iter(free), None))) is not None:
            found.append(place)
            taken.append(place.box)
    return found


def _around(name: str, x: float, y: float) -> Iterator[Place]:
    half = len(name) * LETTER_PIXELS / 2
    # Near a corner a name is beside both intervals of its point; far away is the last choice.
    for away in (AWAY_PIXELS, 2 * AWAY_PIXELS):
        for right, up in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)):
            yield Place(name, x + right * (half + away), y + up * (LINE_PIXELS / 2 + away))
        for right, up in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            near = AWAY_PIXELS / 3
            yield Place(name, x + right * (half + near), y + up * (LINE_PIXELS / 2 + away))


def _is_free(
    box: Box,
    taken: Sequence[Box],
    size: tuple[int, int],
) -> bool:
    left, low, right, high = box
    if left < 0 or low < 0 or right > size[0] or high > size[1]:
        return False
    return not any(
        left < other[2] and right > other[0] and low < other[3] and high > other[1]
        for other in taken
    )
