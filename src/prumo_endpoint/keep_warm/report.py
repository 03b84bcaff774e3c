"""A tournament for people, in five lines, a table and a picture, and for programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from itertools import pairwise
from math import hypot
from statistics import fmean
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import Message
from prumo.quantity import Quantity, digits
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
from prumo_endpoint.load.request_table import requests_needed
from prumo_endpoint.traces import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from rich.console import Console

    from prumo.report.figures.figure import Figure
    from prumo.report.figures.pareto import Box
    from prumo_endpoint.keep_warm.tournament import Endpoint, Entry, Interval, Tournament

FORMAT = 1
_DIGITS = 3
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
# Below it a policy is not worth a sentence.
_LEAST_AVOIDED = 0.01
_HALF = 0.5
_MANY_REMAIN = 0.1
_NO_CENTS = 100
_COLUMNS, _ANSWER_LINES = 80, 5
# With fewer, one call more or less changes a share by more than a percentage point.
_FEW_CALLS = 100
# A name further away than this has a line to its point.
_GRID_PIXELS, _NEAR_PIXELS = 4, 18


def print_tournament(
    tournament: Tournament, endpoint: Endpoint, remarks: Sequence[str], console: Console
) -> None:
    """The answer, then a row per policy."""
    for line in answer(tournament, endpoint):
        console.print(Text(line))
    console.print(_table(tournament, endpoint.prices.currency))
    for sentences in (*_reading(tournament, endpoint), *remarks):
        for line in wrap(sentences, _COLUMNS, break_on_hyphens=False):
            console.print(Text(line, style="dim"))


def answer(tournament: Tournament, endpoint: Endpoint) -> list[str]:
    """What a reader wants to know first, in at most five lines; cautions before all."""
    lines: list[str] = []
    for sentence in (*_cautions(tournament, endpoint), *_sentences(tournament, endpoint)):
        wrapped = wrap(sentence, _COLUMNS)
        if len(lines) + len(wrapped) <= _ANSWER_LINES:
            lines += wrapped
    return lines


def _cautions(tournament: Tournament, endpoint: Endpoint) -> list[str]:
    """Why the figures may say nothing at all."""
    found = []
    calls, length = tournament.entries[0].calls, tournament.shortest_trace_seconds
    if calls < _FEW_CALLS or length < DAY_SECONDS:
        found.append(
            f"Caution: only {calls:,} {'call' if calls == 1 else 'calls'} and {_seconds(length)} "
            f"of traffic{' in the shortest trace' if tournament.traces > 1 else ''}; a month needs "
            f"a day and {_FEW_CALLS} calls."
        )
    cold, warm = fmean(endpoint.times.cold_seconds), fmean(endpoint.times.warm_seconds)
    if cold < warm:
        found.append(
            f"Caution: cold answers ({_seconds(cold)}) are faster than warm ones "
            f"({_seconds(warm)}); swapped?"
        )
    return found


def _sentences(tournament: Tournament, endpoint: Endpoint) -> list[str]:
    currency = endpoint.prices.currency
    never, *others = tournament.entries
    first = (
        f"Nothing kept warm: {never.cold_calls:,} of {never.calls:,} answers are cold "
        f"({_percent(never.cold_share.value)}), {_money(_cost(never), currency)} a month."
    )
    lines = [first]
    if not never.cold_calls:
        return [*lines, "There is nothing to keep warm."]
    useful = [entry for entry in others if _at_least(entry) >= _LEAST_AVOIDED]
    if useful:
        best = max(useful, key=lambda entry: (entry.avoided_share.value, -_cost(entry)))
        lines.append(f"Fewest cold: {_offer(best, never, currency)}.")
        half = [entry for entry in useful if entry.avoided_share.value >= _HALF]
        cheap = min(half, key=_cost, default=best)
        if cheap is not best:
            lines.append(f"Cheapest for half: {_offer(cheap, never, currency)}.")
    else:
        lines.append("No policy avoids cold answers for certain.")
    remaining = tournament.cold_calls_beside_one / never.cold_calls
    if remaining >= _MANY_REMAIN:
        lines.append(
            f"{_percent(remaining)} stay cold even beside one warm instance: calls at the same "
            "time."
        )
    return lines


def tournament_document(
    tournament: Tournament, endpoint: Endpoint, remarks: Sequence[str]
) -> dict[str, Any]:
    """Everything that was found, for JSON."""
    times = endpoint.times
    return {
        "format": FORMAT,
        "traces": tournament.traces,
        "days": tournament.days,
        "cold_calls_beside_one": tournament.cold_calls_beside_one,
        "idle_timeout_seconds": endpoint.idle_timeout_seconds,
        "prices": asdict(endpoint.prices),
        "times": {
            kind: {"n": len(values), "mean_seconds": fmean(values)}
            for kind, values in (("cold", times.cold_seconds), ("warm", times.warm_seconds))
        },
        "intervals": {
            "confidence": tournament.confidence,
            "method": "bootstrap over blocks of the traces",
            "blocks": tournament.blocks,
            "block_seconds": tournament.block_seconds,
        },
        "policies": [asdict(entry) for entry in tournament.entries],
        "cautions": _cautions(tournament, endpoint),
        "answer": answer(tournament, endpoint),
        "remarks": list(remarks),
    }


def _table(tournament: Tournament, currency: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("policy", no_wrap=True)
    has_p99 = tournament.entries[0].p99_seconds is not None
    for title in ("cold", "avoided %", "per month", *(["p99"] if has_p99 else []), "pings/d"):
        table.add_column(title, justify="right", no_wrap=True)
    for entry in tournament.entries:
        table.add_row(
            Text(
                f"{entry.policy}{' *' if entry.on_front else ''}", "bold" if entry.on_front else ""
            ),
            _percent(entry.cold_share.value),
            _percents(entry.avoided_share),
            _relative(entry.monthly_cost, currency),
            *([_seconds(entry.p99_seconds)] if entry.p99_seconds is not None else []),
            digits(entry.pings_per_day, _DIGITS),
        )
    return table


def _reading(tournament: Tournament, endpoint: Endpoint) -> list[str]:
    times = endpoint.times
    where = (
        f"{100 * tournament.confidence:g} % intervals by bootstrap over {_blocks(tournament)}"
        if tournament.blocks
        else "The trace is too short for intervals"
    )
    billed = "whole" if endpoint.prices.bills_start else "as long as a warm one"
    calls, needed = tournament.entries[0].calls, requests_needed(0.99)
    no_p99 = f" No p99: n = {calls:,} < {needed}." if calls < needed else ""
    measured = (
        f"Cold {_seconds(fmean(times.cold_seconds))} ({len(times.cold_seconds)} measured), billed "
        f"{billed}; warm {_seconds(fmean(times.warm_seconds))} ({len(times.warm_seconds)}); idle "
        f"time-out {_seconds(endpoint.idle_timeout_seconds)}."
    )
    return [
        f"* No other policy has both fewer cold answers and a lower cost. {where}.{no_p99}",
        measured,
    ]


def _blocks(tournament: Tournament) -> str:
    length = tournament.block_seconds
    if 0.9 * DAY_SECONDS < length < 1.1 * DAY_SECONDS:
        return f"{tournament.blocks} days"
    return f"{tournament.blocks} blocks of {_seconds(length)}"


def _offer(entry: Entry, never: Entry, currency: str) -> str:
    more = _cost(entry) - _cost(never)
    offer = f"{entry.policy} avoids {100 * entry.avoided_share.value:.3g} %"
    if more <= 0:
        return f"{offer} and costs {_money(-more, currency)} a month less"
    avoided = never.monthly_cold_calls - entry.monthly_cold_calls
    of_thousand = _money(1000 * more / avoided, currency)
    return f"{offer}, +{_money(more, currency)} a month ({of_thousand} per 1,000)"


def _cost(entry: Entry) -> float:
    return entry.monthly_cost.value


def _at_least(entry: Entry) -> float:
    """What a policy avoids at least."""
    share = entry.avoided_share
    return share.value if share.low is None else share.low


def _percents(share: Interval) -> str:
    """A share in percent with its interval."""
    value = f"{100 * share.value:.3g}"
    if share.low is None or share.high is None:
        return value
    return f"{value} [{100 * share.low:.3g}, {100 * share.high:.3g}]"


def _relative(cost: Interval, currency: str) -> str:
    text = _money(cost.value, currency)
    if cost.low is None or cost.high is None or not cost.value:
        return text
    percent = 50 * (cost.high - cost.low) / cost.value
    return f"{text} ±{f'{percent:.0f}' if percent >= 1 else '<1'} %"


def _percent(share: float) -> str:
    return f"{100 * share:.{_DIGITS if share >= _LEAST_AVOIDED else _DIGITS - 1}g} %"


def _money(amount: float, currency: str) -> str:
    """From a hundred on without cents."""
    if amount < _NO_CENTS:
        return str(Quantity(amount, currency, _DIGITS))
    return str(Quantity(round(amount), currency)).removesuffix(".00")


def _seconds(seconds: float) -> str:
    return str(Quantity(seconds, "s", _DIGITS))


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
