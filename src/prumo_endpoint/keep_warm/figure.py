"""The picture of a tournament: a named point for every policy, cold answers against money."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import hypot
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import (
    INK,
    PALETTE,
    PLAIN_NUMBER,
    SHAPES,
    draw,
    plain,
    round_numbers,
)
from prumo.report.figures.pareto import LETTER_PIXELS, LINE_PIXELS, POINT_PIXELS, PixelAxis
from prumo.report.language import english

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prumo.report.figures.figure import Figure
    from prumo.report.figures.pareto import Box
    from prumo_endpoint.keep_warm.tournament import Entry, Tournament

_TITLE = Message("Cold answers avoided against money")
_READING = Message(
    "A point per policy, with intervals; further right avoids more cold answers, further down is "
    "cheaper. Ringed: no other policy has both fewer cold answers and a lower cost."
)
_LOGARITHMIC = Message("The axis of cost is logarithmic.")
_CUT_OFF = Message("The axis of cost does not start at zero.")
_WIDTH, _HEIGHT = 720, 400
_LEFT_PERCENT, _RIGHT_PERCENT = -8.0, 108.0
_SPREAD_RATIO = 5.0
# A name further away than this has a line to its point.
_GRID_PIXELS, _NEAR_PIXELS = 4, 18


def pareto_figure(tournament: Tournament, currency: str) -> Figure:
    """Cold answers avoided to the right, money upwards; ringed what none beats in both."""
    points = pl.DataFrame(_points(tournament.entries))
    costs = points["cost"].to_list()
    is_spread = min(costs) > 0 and max(costs) > _SPREAD_RATIO * min(costs)
    left = min(_LEFT_PERCENT, _RIGHT_PERCENT / 100 * min(points["avoided"]))
    avoided = PixelAxis(left, _RIGHT_PERCENT, False, _WIDTH)
    cost = PixelAxis.of(costs, _HEIGHT, logarithmic=is_spread)
    # No logarithmic axis reaches zero, as an interval may.
    points = points.with_columns(pl.col("cost_low", "cost_high").clip(lower_bound=cost.low))
    x = alt.X("avoided:Q", **_axis(avoided, "cold answers avoided [%]"))
    y = alt.Y("cost:Q", **_axis(cost, f"cost per month [{currency}]"))
    color = alt.Color("color:N", scale=None)
    interval = alt.Chart(points).mark_rule(strokeWidth=1, opacity=0.7, clip=True)
    front = alt.Chart(points.filter("front").sort("avoided")).encode(x=x, y=y)
    chart = alt.layer(
        front.mark_line(color=INK, strokeWidth=1, strokeDash=[5, 3], interpolate="step-before"),
        interval.encode(x="avoided_low:Q", x2="avoided_high:Q", y=y, color=color),
        interval.encode(y="cost_low:Q", y2="cost_high:Q", x=x, color=color),
        alt.Chart(points)
        .mark_point(filled=True, size=60, opacity=1)
        .encode(x=x, y=y, color=color, shape=alt.Shape("shape:N", scale=None)),
        front.mark_point(size=190, color=INK, strokeWidth=1.3),
        _names(points, avoided, cost),
    ).properties(width=_WIDTH, height=_HEIGHT)
    remark = _LOGARITHMIC if is_spread else _CUT_OFF if cost.low > 0 else None
    return draw(chart, "keep-warm", _TITLE, [_READING, remark], english())


def _points(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """A point for each outcome; policies that do exactly the same share one."""
    points: dict[tuple[int, float], dict[str, Any]] = {}
    alike: Counter[tuple[int, float]] = Counter()
    for entry in entries:
        outcome = entry.cold_calls, entry.monthly_cost.value
        alike[outcome] += 1
        points.setdefault(outcome, _point(entry, len(points)))
    for outcome, point in points.items():
        if alike[outcome] > 1:
            point["policy"] += f" and {alike[outcome] - 1} alike"
    return list(points.values())


def _point(entry: Entry, place: int) -> dict[str, Any]:
    avoided, cost = entry.avoided_share, entry.monthly_cost
    return {
        "policy": entry.policy,
        "front": entry.on_front,
        "color": PALETTE[place % len(PALETTE)],
        "shape": SHAPES[place % len(SHAPES)],
        "avoided": 100 * avoided.value,
        "avoided_low": 100 * (avoided.value if avoided.low is None else avoided.low),
        "avoided_high": 100 * (avoided.value if avoided.high is None else avoided.high),
        "cost": cost.value,
        "cost_low": cost.value if cost.low is None else cost.low,
        "cost_high": cost.value if cost.high is None else cost.high,
    }


def _axis(axis: PixelAxis, title: str) -> dict[str, Any]:
    kind = "log" if axis.logarithmic else "linear"
    ticks = {"values": round_numbers(axis.low, axis.high)} if axis.logarithmic else {"tickCount": 6}
    return {
        "title": title,
        "scale": plain(type=kind, domain=[axis.low, axis.high], nice=False, zero=False),
        "axis": plain(format=PLAIN_NUMBER, **ticks),
    }


def _names(points: pl.DataFrame, avoided: PixelAxis, cost: PixelAxis) -> Any:  # noqa: ANN401 (Altair)
    """The name of every policy, those on the front nearest to their points."""
    rows = points.sort("front", descending=True, maintain_order=True).rows(named=True)
    spots = [(avoided.pixel(row["avoided"]), cost.pixel(row["cost"])) for row in rows]
    lines = _front_lines([spot for row, spot in zip(rows, spots, strict=True) if row["front"]])
    for row, (left, low) in zip(rows, spots, strict=True):
        ends = avoided.pixel(row["avoided_low"]), avoided.pixel(row["avoided_high"])
        lines.append((ends[0], low, ends[1], low))
        lines.append((left, cost.pixel(row["cost_low"]), left, cost.pixel(row["cost_high"])))
    colors = {row["policy"]: _dark(row["color"]) for row in rows}
    texts, pointers, taken = [], [], [_around(spot, POINT_PIXELS) for spot in spots]
    for place, (name, (x, y)) in enumerate(zip(colors, spots, strict=True)):
        others = taken[:place] + taken[place + 1 :]
        box, (end_x, end_y) = _label_box(name, (x, y), others, lines)
        taken.append(box)
        texts.append((name, colors[name], (box[0] + box[2]) / 2, _HEIGHT - (box[1] + box[3]) / 2))
        if hypot(end_x - x, end_y - y) > _NEAR_PIXELS:
            pointers.append((name, colors[name], x, _HEIGHT - y, end_x, _HEIGHT - end_y))
    columns = {"name": pl.String, "color": pl.String, "left": pl.Float64, "top": pl.Float64}
    named = alt.Chart(pl.DataFrame(texts, columns, orient="row"))
    columns |= {"end_left": pl.Float64, "end_top": pl.Float64}
    pointed = alt.Chart(pl.DataFrame(pointers, columns, orient="row"))
    at = {"x": alt.X("left:Q", scale=None), "y": alt.Y("top:Q", scale=None)}
    color = alt.Color("color:N", scale=None)
    pointer = pointed.mark_rule(strokeWidth=0.8, opacity=0.6)
    return alt.layer(
        pointer.encode(**at, x2="end_left:Q", y2="end_top:Q", color=color),
        named.mark_text(fontSize=11).encode(**at, text="name:N", color=color),
    )


def _label_box(
    name: str, spot: tuple[float, float], taken: Sequence[Box], lines: Sequence[Box]
) -> tuple[Box, tuple[float, float]]:
    """Where a name lies, and which of its corners or edges is the nearest to its point.

    Near the point; over no name or other point, and with nothing between it and its own; not on a
    line where that can be avoided.
    """
    width, height = len(name) * LETTER_PIXELS, LINE_PIXELS
    left, low = (
        grid.ravel()
        for grid in np.meshgrid(
            np.arange(0.0, _WIDTH - width, _GRID_PIXELS),
            np.arange(0.0, _HEIGHT - height, _GRID_PIXELS),
        )
    )
    boxes = np.stack([left, low, left + width, low + height])
    ends = np.stack([np.clip(spot[0], left, left + width), np.clip(spot[1], low, low + height)])
    away = np.hypot(ends[0] - spot[0], ends[1] - spot[1])
    steps = np.linspace(0.0, 1.0, 16)[:, None, None]
    x, y = np.moveaxis(np.asarray(spot)[:, None] * (1 - steps) + ends * steps, 1, 0)
    badness = away + 1e4 * (away < 2 * POINT_PIXELS)
    for other in taken:
        badness += 1e4 * _overlaps(boxes, other)
        badness += 1e2 * _overlaps(np.stack([x, y, x, y]), other).any(axis=0)
    for line in lines:
        badness += 20 * _overlaps(boxes, line)
    best = int(badness.argmin())
    box_left, box_low, box_right, box_high = boxes[:, best].tolist()
    return (box_left, box_low, box_right, box_high), (float(ends[0, best]), float(ends[1, best]))


def _overlaps(boxes: NDArray[np.float64], other: Box) -> NDArray[np.bool_]:
    left, low, right, high = boxes
    return np.asarray(
        (left <= other[2]) & (right >= other[0]) & (low <= other[3]) & (high >= other[1])
    )


def _around(spot: tuple[float, float], pixels: float) -> Box:
    return spot[0] - pixels, spot[1] - pixels, spot[0] + pixels, spot[1] + pixels


def _dark(color: str) -> str:
    """A colour as text: half of it, and half of it black."""
    return "#" + "".join(f"{int(color[place : place + 2], 16) // 2:02x}" for place in (1, 3, 5))


def _front_lines(spots: Sequence[tuple[float, float]]) -> list[Box]:
    """Where the steps of the front are: up beside a point, then over to the next one."""
    lines = []
    for (left, low), (right, high) in pairwise(sorted(spots)):
        lines += [(left, min(low, high), left, max(low, high)), (left, high, right, high)]
    return lines
