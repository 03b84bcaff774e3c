"""Time and money in one picture, with the scenarios that no other beats in both."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log
from statistics import median
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.money.difference import work_factors
from prumo.report.figures.figure import (
    INK,
    PALETTE,
    PLAIN_NUMBER,
    SHAPES,
    axis_title,
    draw,
    mark_levels,
    plain,
    round_numbers,
    scaled_means,
)
from prumo.report.label import levels_label, metric_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prumo.money.pareto import ParetoPoint
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

    Box = tuple[float, float, float, float]
    """The left, lower, right and upper end."""

# How much of the plot stays free around the points.
MARGIN = 0.14
ROOM_RATIO = 1.05
# A letter and a line of 11 pixels in the widest fonts (DejaVu Sans), and how far a name stands from
# its point.
LETTER_PIXELS, LINE_PIXELS, AWAY_PIXELS = 7.8, 15.0, 13.0
POINT_PIXELS = 5.0

ONE_PIXELS, EACH_PIXELS = (780, 420), (244, 180)
COLUMNS = 3
MOST_PANELS = 24
# With more scenarios only those on the front are named: the others would be a cloud of names.
NAMED_AT_MOST = 16
READING = Message(
    "A point per scenario, with the confidence intervals of its mean time and mean cost; further "
    "left is faster, further down is cheaper. Ringed: by the means, no other scenario is both "
    "faster and cheaper."
)
PER_WORK = Message("A panel per work, since another work is no choice; each has its own axes.")
LOGARITHMIC = Message("Both axes are logarithmic.")
# Ours: beyond it the points of the faster machine would lie on one heap.
SPREAD_RATIO = 5.0


def pareto_figures(
    points: Sequence[ParetoPoint],
    summary: pl.DataFrame,
    factors: Sequence[str],
    metrics: tuple[str, str],
    language: Language,
) -> list[Figure]:
    """A panel per work: a point per scenario, time to the right and money upwards."""
    table = _points(points, summary, factors)
    titles = []
    for metric, name in zip(metrics, ("time", "money"), strict=True):
        means = summary.filter(pl.col("metric") == metric)
        scale = language.scale(
            median(means["mean"].to_list()), means["unit"][0], means["metric"][0]
        )
        columns = {"value": name, "low": f"{name}_low", "high": f"{name}_high"}
        scaled = scaled_means(means, scale.factor).rename(columns)
        table = table.join(scaled, on="scenario", maintain_order="left")
        titles.append(axis_title(metric_title(metric), scale.unit, language))
    works = table.partition_by("work", maintain_order=True)
    shown = works[:MOST_PANELS]
    looks = Looks(titles, _is_spread(shown), *_group_marks(table, factors))
    plots = [_plot(work, place, len(shown), looks) for place, work in enumerate(shown)]
    left = len(works) - len(shown)
    sentences = [
        READING,
        LOGARITHMIC if looks.logarithmic else None,
        PER_WORK if len(works) > 1 else None,
        Message("{left} further works are not shown.", {"left": left}) if left else None,
    ]
    chart = alt.concat(*plots, columns=COLUMNS, spacing={"row": 16, "column": 16})
    return [draw(chart, "pareto", Message("Time against money"), sentences, language)]


def _points(
    points: Sequence[ParetoPoint], summary: pl.DataFrame, factors: Sequence[str]
) -> pl.DataFrame:
    """Columns of the figure only: a user's factor may be called `time` too."""
    work = work_factors(factors)
    ways = [factor for factor in factors if factor not in work][:1]
    levels = {row["scenario"]: row for row in summary.unique("scenario").rows(named=True)}
    return pl.DataFrame(
        {
            "scenario": point.scenario,
            "work": levels_label(levels[point.scenario], work),
            "group": levels_label(levels[point.scenario], ways),
            "front": point.on_front,
        }
        for point in points
    )


def _group_marks(table: pl.DataFrame, factors: Sequence[str]) -> tuple[Any, Any]:
    """Colour and shape by the first factor that is a way to do the work."""
    groups = table["group"].unique(maintain_order=True).to_list()
    if not 1 < len(groups) <= len(PALETTE):
        return alt.value(PALETTE[0]), alt.value(SHAPES[0])
    work = work_factors(factors)
    title = next(factor for factor in factors if factor not in work)
    legend = plain(title=title, symbolOpacity=1)
    return (
        mark_levels(alt.Color, "group:N", groups, PALETTE, **legend),
        mark_levels(alt.Shape, "group:N", groups, SHAPES, **legend),
    )


def _is_spread(works: Sequence[pl.DataFrame]) -> bool:
    """Whether some work needs logarithmic axes; what costs nothing has no logarithm."""
    columns = [work[name].to_list() for work in works for name in ("time", "money")]
    if any(min(values) <= 0 for values in columns):
        return False
    return any(max(values) > SPREAD_RATIO * min(values) for values in columns)


def _plot(table: pl.DataFrame, place: int, count: int, looks: Looks) -> Any:
    """One work; the title of the upright axis only where no panel is to the left."""
    width, height = ONE_PIXELS if count == 1 else EACH_PIXELS
    logarithmic = looks.logarithmic
    time = PixelAxis.of(table["time"].to_list(), width, logarithmic=logarithmic)
    money = PixelAxis.of(table["money"].to_list(), height, logarithmic=logarithmic)
    x = alt.X("time:Q", **_axis(time, looks.titles[0]))
    y = alt.Y("money:Q", **_axis(money, looks.titles[1] if place % COLUMNS == 0 else None))
    color, shape = looks.color, looks.shape
    base = alt.Chart(table).encode(x=x, y=y)
    interval = alt.Chart(table).mark_rule(strokeWidth=1, opacity=0.6, clip=True)
    front = alt.Chart(table.filter("front").sort("time")).encode(x=x, y=y)
    return alt.layer(
        front.mark_line(color=INK, strokeWidth=1, strokeDash=[5, 3], interpolate="step-after"),
        interval.encode(x="time_low:Q", x2="time_high:Q", y=y, color=color),
        interval.encode(y="money_low:Q", y2="money_high:Q", x=x, color=color),
        base.mark_point(filled=True, size=55, opacity=0.85).encode(color=color, shape=shape),
        front.mark_point(size=170, color=INK, strokeWidth=1.3, opacity=1),
        _names(table, time, money),
    ).properties(
        width=width,
        height=height,
        # Above the plot itself: in a wide font the upright axis' title is longer than the axis.
        title=alt.Title(
            table["work"][0], anchor="start", frame="group", fontSize=12, color=INK, offset=4
        ),
    )


def _axis(axis: PixelAxis, title: str | None) -> dict[str, Any]:
    kind = "log" if axis.logarithmic else "linear"
    ticks = {"values": round_numbers(axis.low, axis.high)} if axis.logarithmic else {"tickCount": 5}
    return {
        "title": title,
        "scale": plain(type=kind, domain=[axis.low, axis.high], nice=False, zero=False),
        "axis": plain(format=PLAIN_NUMBER, labelOverlap=True, labelFontSize=11, **ticks),
    }


def _names(table: pl.DataFrame, time: PixelAxis, money: PixelAxis) -> Any:
    first_named = table.sort("front", descending=True, maintain_order=True)
    named = first_named if table.height <= NAMED_AT_MOST else first_named.filter("front")
    points = [
        (time.pixel(row["time"]), money.pixel(row["money"])) for row in first_named.rows(named=True)
    ]
    size = time.pixels, money.pixels
    places = free_places(named["scenario"].to_list(), points, size, _lines(table, time, money))
    texts = pl.DataFrame(
        [(place.name, place.x, money.pixels - place.y) for place in places],
        schema={"name": pl.String, "left": pl.Float64, "top": pl.Float64},
        orient="row",
    )
    return (
        alt.Chart(texts)
        .mark_text(fontSize=11, color=INK)
        .encode(x=alt.X("left:Q", scale=None), y=alt.Y("top:Q", scale=None), text="name:N")
    )


def _lines(table: pl.DataFrame, time: PixelAxis, money: PixelAxis) -> list[Box]:
    """Where the intervals and the steps of the front are, which are all level or upright."""
    lines = []
    for row in table.rows(named=True):
        x, y = time.pixel(row["time"]), money.pixel(row["money"])
        if row["time_low"] is not None:
            lines.append((time.pixel(row["time_low"]), y, time.pixel(row["time_high"]), y))
        if row["money_low"] is not None:
            lines.append((x, money.pixel(row["money_low"]), x, money.pixel(row["money_high"])))
    front = table.filter("front").sort("time").select("time", "money").rows()
    for (start, height), (end, next_height) in pairwise(front):
        left, right = time.pixel(start), time.pixel(end)
        low, high = sorted((money.pixel(height), money.pixel(next_height)))
        lines += [
            (left, money.pixel(height), right, money.pixel(height)),
            (right, low, right, high),
        ]
    return lines


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


def _is_free(box: Box, taken: Sequence[Box], size: tuple[int, int]) -> bool:
    left, low, right, high = box
    if left < 0 or low < 0 or right > size[0] or high > size[1]:
        return False
    return not any(
        left < other[2] and right > other[0] and low < other[3] and high > other[1]
        for other in taken
    )


@dataclass(frozen=True)
class Looks:
    """What the panels have in common."""

    titles: Sequence[str]
    logarithmic: bool
    color: Any
    shape: Any
