"""A tournament for people, in five lines, a table and a picture, and for programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import Message
from prumo.quantity import MISSING, Quantity, digits
from prumo.report.figures.figure import (
    INK,
    PALETTE,
    PLAIN_NUMBER,
    SHAPES,
    draw,
    plain,
    round_numbers,
)
from prumo.report.figures.pareto import PixelAxis, free_places
from prumo.report.language import english

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from prumo.report.figures.figure import Figure
    from prumo.report.figures.pareto import Box
    from prumo_endpoint.keep_warm.tournament import Endpoint, Entry, Interval, Tournament

FORMAT = 1
_DIGITS = 3
_DAY = 86_400.0
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


def print_tournament(
    tournament: Tournament, endpoint: Endpoint, remarks: Sequence[str], console: Console
) -> None:
    """The answer, then a row per policy."""
    for line in answer(tournament, endpoint):
        console.print(Text(line))
    console.print(_table(tournament, endpoint.prices.currency))
    for line in (_reading(tournament, endpoint), *remarks):
        console.print(Text(line, style="dim"))


def answer(tournament: Tournament, endpoint: Endpoint) -> list[str]:
    """What a reader wants to know first, in at most five sentences."""
    currency = endpoint.prices.currency
    never, *others = tournament.entries
    first = (
        f"Nothing kept warm: {never.cold_calls:,} of {never.calls:,} answers are cold "
        f"({_percent(never.cold_share.value)}), for {_money(_cost(never), currency)} a month."
    )
    lines = [first]
    if not never.cold_calls:
        return [*lines, "There is nothing to keep warm."]
    useful = [entry for entry in others if _at_least(entry) >= _LEAST_AVOIDED]
    if useful:
        best = max(useful, key=lambda entry: (entry.avoided_share.value, -_cost(entry)))
        lines.append(f"Fewest cold answers: {_offer(best, never, currency)}.")
        half = [entry for entry in useful if entry.avoided_share.value >= _HALF]
        cheap = min(half, key=_cost, default=best)
        if cheap is not best:
            lines.append(f"Cheapest that avoids at least half: {_offer(cheap, never, currency)}.")
    else:
        lines.append("No policy avoids cold answers for certain.")
    remaining = tournament.cold_calls_beside_one / never.cold_calls
    if remaining >= _MANY_REMAIN:
        lines.append(
            f"{_percent(remaining)} of the cold answers remain even with one instance always warm: "
            "calls at the same time need one each."
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
        "answer": answer(tournament, endpoint),
        "remarks": list(remarks),
    }


def _table(tournament: Tournament, currency: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("policy", no_wrap=True)
    for title in ("cold", "avoided %", "per month", "p99", "pings/d"):
        table.add_column(title, justify="right", no_wrap=True)
    for entry in tournament.entries:
        table.add_row(
            Text(
                f"{entry.policy}{' *' if entry.on_front else ''}", "bold" if entry.on_front else ""
            ),
            _percent(entry.cold_share.value),
            _percents(entry.avoided_share),
            _relative(entry.monthly_cost, currency),
            str(Quantity(entry.p99_seconds, "s", _DIGITS)) if entry.p99_seconds else MISSING,
            digits(entry.pings / tournament.days, _DIGITS),
        )
    return table


def _reading(tournament: Tournament, endpoint: Endpoint) -> str:
    times = endpoint.times
    where = (
        f"{100 * tournament.confidence:g} % intervals by bootstrap over {_blocks(tournament)}"
        if tournament.blocks
        else "The trace is too short for intervals"
    )
    billed = "whole" if endpoint.prices.bills_start else "as long as a warm one"
    return (
        f"* No other policy has both fewer cold answers and a lower cost. {where}.\n"
        f"Cold {_seconds(fmean(times.cold_seconds))} ({len(times.cold_seconds)} measured), billed "
        f"{billed}; warm {_seconds(fmean(times.warm_seconds))} ({len(times.warm_seconds)}); idle "
        f"time-out {_seconds(endpoint.idle_timeout_seconds)}."
    )


def _blocks(tournament: Tournament) -> str:
    length = tournament.block_seconds
    if 0.9 * _DAY < length < 1.1 * _DAY:
        return f"{tournament.blocks} days"
    return f"{tournament.blocks} blocks of {_seconds(length)}"


def _offer(entry: Entry, never: Entry, currency: str) -> str:
    more = _cost(entry) - _cost(never)
    offer = f"{entry.policy} avoids {_percents(entry.avoided_share)} %"
    if more <= 0:
        return f"{offer} and costs {_money(-more, currency)} a month less"
    avoided = never.monthly_cold_calls - entry.monthly_cold_calls
    of_thousand = _money(1000 * more / avoided, currency)
    return f"{offer} for {_money(more, currency)} a month more, {of_thousand} per 1,000 avoided"


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
    """The policies' names where there is room, those on the front first."""
    rows = points.sort("front", descending=True, maintain_order=True).rows(named=True)
    spots = [(avoided.pixel(row["avoided"]), cost.pixel(row["cost"])) for row in rows]
    lines = _front_lines([spot for row, spot in zip(rows, spots, strict=True) if row["front"]])
    for row, (left, low) in zip(rows, spots, strict=True):
        ends = avoided.pixel(row["avoided_low"]), avoided.pixel(row["avoided_high"])
        lines.append((ends[0], low, ends[1], low))
        lines.append((left, cost.pixel(row["cost_low"]), left, cost.pixel(row["cost_high"])))
    colors = {row["policy"]: _dark(row["color"]) for row in rows}
    places = free_places(list(colors), spots, (_WIDTH, _HEIGHT), lines)
    texts = pl.DataFrame(
        [(place.name, colors[place.name], place.x, _HEIGHT - place.y) for place in places],
        schema={"name": pl.String, "color": pl.String, "left": pl.Float64, "top": pl.Float64},
        orient="row",
    )
    return (
        alt.Chart(texts)
        .mark_text(fontSize=11)
        .encode(
            x=alt.X("left:Q", scale=None),
            y=alt.Y("top:Q", scale=None),
            text="name:N",
            color=alt.Color("color:N", scale=None),
        )
    )


def _dark(color: str) -> str:
    """A colour as text: half of it, and half of it black."""
    return "#" + "".join(f"{int(color[place : place + 2], 16) // 2:02x}" for place in (1, 3, 5))


def _front_lines(spots: Sequence[tuple[float, float]]) -> list[Box]:
    """Where the steps of the front are: up beside a point, then over to the next one."""
    lines = []
    for (left, low), (right, high) in pairwise(sorted(spots)):
        lines += [(left, min(low, high), left, max(low, high)), (left, high, right, high)]
    return lines
