"""Figures about requests: every request over time, and the tail."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import (
    INK,
    PALETTE,
    PLAIN_NUMBER,
    Extent,
    axis_title,
    draw,
    mark_levels,
    panel_title,
    plain,
    value_axis,
)
from prumo.report.figures.scenarios import BoxWords
from prumo.report.label import levels_label
from prumo_endpoint.load.request_table import requests_needed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

LATENCY = "latency_seconds"
MOST_POINTS = 4000
MOST_LINES = len(PALETTE)
WIDTH, HEIGHT = 640, 300
PANEL_HEIGHT = 110
# As far apart on an axis of nines, so that a step in the tail is where it belongs; the last is
# 99.99 %.
TAIL_SHARES = tuple(1 - 10 ** (-step / 20) for step in range(81))
# With less there is no tail to look at.
_LEAST_TAIL = 0.9
TAIL_TICKS = {0.5: "50 %", 0.9: "90 %", 0.99: "99 %", 0.999: "99.9 %", 0.9999: "99.99 %"}

REQUEST_BOXES = BoxWords(
    "latency",
    lambda _: Message("Latency of requests"),
    Message(
        "Box: the middle half of the requests of all runs, with a line at the median. Whiskers: "
        "the last requests within 1.5 lengths of the box."
    ),
    Message("Dots: single requests."),
    Message("Dots: the requests outside of the whiskers."),
    axis=Message("Latency"),
)


def timeline_figures(
    answered: pl.DataFrame, factors: Sequence[str], language: Language
) -> list[Figure]:
    """Every request of the first run of each scenario: when it was due, and how long it took."""
    if not answered.height:
        return []
    first = answered.filter(pl.col("run") == pl.col("run").first().over("scenario"))
    labels = scenario_labels(first, factors)
    table = labelled(first, factors).filter(pl.col("label").is_in(labels))
    is_cold = pl.col("is_cold").fill_null(value=False)
    step = -(-table.height // MOST_POINTS)
    scale = language.scale(median(table[LATENCY]), "s")
    cold, warm = language.say("cold start"), language.say("warm")
    points = pl.concat([table.filter(~is_cold).gather_every(step), table.filter(is_cold)]).select(
        "label",
        due=pl.col("due_seconds"),
        value=pl.col(LATENCY) / scale.factor,
        kind=pl.when(is_cold).then(pl.lit(cold)).otherwise(pl.lit(warm)),
    )
    begins = table.group_by("label", "phase").agg(due=pl.col("due_seconds").min())
    extent = Extent.of(points["value"].to_list())
    end = max(points["due"])
    y = alt.Y("value:Q", **value_axis(axis_title(Message("Latency"), scale.unit, language), extent))
    chart = alt.vconcat(
        *(
            _timeline_panel(
                points.filter(pl.col("label") == label),
                begins.filter(pl.col("label") == label),
                y,
                _time_axis(end, language, is_last=label == labels[-1]),
                [warm, cold],
            ).properties(title=panel_title(label if len(labels) > 1 else ""))
            for label in labels
        ),
        spacing=10,
    )
    has_phases = begins.height > len(labels)
    sentences = [
        Message(
            "A mark per request of the first run of each scenario; latency counts from the time "
            "at which it was due."
        ),
        Message("Dashed: another rate begins.") if has_phases else None,
        left_out(first, factors),
        extent.remark,
    ]
    return [draw(chart, "timeline", Message("Requests over time"), sentences, language)]


def _time_axis(end: float, language: Language, *, is_last: bool) -> Any:  # noqa: ANN401 (Altair)
    title = axis_title(Message("Time in the run"), "s", language) if is_last else None
    return alt.X(
        "due:Q",
        title=title,
        scale=plain(domain=[0, end * 1.01 or 1.0], nice=False),
        axis=plain(tickCount=10, format=PLAIN_NUMBER, labels=is_last, ticks=is_last),
    )


def _timeline_panel(
    points: pl.DataFrame,
    begins: pl.DataFrame,
    y: Any,  # noqa: ANN401 (Altair)
    x: Any,  # noqa: ANN401 (Altair)
    kinds: list[str],
) -> Any:  # noqa: ANN401 (Altair)
    """The warm requests of a scenario, and the cold ones over them."""
    warm, cold = (points.filter(pl.col("kind") == kind) for kind in kinds)
    color = mark_levels(alt.Color, "kind:N", kinds, PALETTE, title=None, symbolOpacity=1)
    shape = mark_levels(alt.Shape, "kind:N", kinds, ["circle", "triangle-up"], title=None)
    if not cold.height:
        color, shape = alt.value(PALETTE[0]), alt.value("circle")
    layers = [
        alt.Chart(warm)
        .mark_point(size=16, opacity=0.45, filled=True)
        .encode(x=x, y=y, color=color, shape=shape)
    ]
    if begins.height > 1:
        later = begins.sort("due")[1:]
        rules = alt.Chart(later).mark_rule(color=INK, strokeDash=[4, 3], opacity=0.6)
        layers.append(rules.encode(x=x))
    if cold.height:
        layers.append(
            alt.Chart(cold)
            .mark_point(size=90, opacity=1, filled=True, stroke="white", strokeWidth=0.7)
            .encode(x=x, y=y, color=color, shape=shape)
        )
    return alt.layer(*layers).properties(width=WIDTH, height=PANEL_HEIGHT)


def tail_figures(
    answered: pl.DataFrame, factors: Sequence[str], language: Language
) -> list[Figure]:
    """Latency at each percentile, drawn so that the slowest answers have room."""
    if not answered.height:
        return []
    scale = language.scale(median(answered[LATENCY]), "s")
    labels = scenario_labels(answered, factors)
    table = labelled(answered, factors)
    rows = [
        {"label": label, "odds": 1 / (1 - share), "value": value / scale.factor}
        for label in labels
        for share, value in _tail(table.filter(pl.col("label") == label)[LATENCY].to_numpy())
    ]
    lines = pl.DataFrame(rows)
    longest = max(lines["odds"])
    if longest < 1 / (1 - _LEAST_TAIL) * 0.999:
        return []
    ends = lines.group_by("label", maintain_order=True).last()
    extent = Extent.of(lines["value"].to_list())
    ticks = {1 / (1 - share): language.marks.localized(text) for share, text in TAIL_TICKS.items()}
    names = " : ".join(f"datum.value < {odds * 1.01} ? '{text}'" for odds, text in ticks.items())
    x = alt.X(
        "odds:Q",
        title=language.say("share of the requests that took no longer"),
        scale=plain(type="log", domain=[1, longest * 1.1], nice=False),
        axis=plain(values=list(ticks), labelExpr=f"{names} : ''"),
    )
    y = alt.Y("value:Q", **value_axis(axis_title(Message("Latency"), scale.unit, language), extent))
    color = scenario_color(labels, symbolType="stroke", symbolStrokeWidth=2.5)
    chart = alt.layer(
        alt.Chart(lines).mark_line(strokeWidth=1.8).encode(x=x, y=y, color=color),
        alt.Chart(ends).mark_point(filled=True, size=45, opacity=1).encode(x=x, y=y, color=color),
    ).properties(width=WIDTH, height=HEIGHT)
    reading = Message(
        "A line per scenario, over the requests of all its runs; it ends where there are too few "
        "requests to say more."
    )
    sentences = [reading, left_out(answered, factors), extent.remark]
    return [draw(chart, "tail", Message("The slowest answers"), sentences, language)]


def _tail(latencies: np.ndarray) -> Iterator[tuple[float, float]]:
    """Shares and the latencies that they did not exceed, as far as the requests reach."""
    for share in TAIL_SHARES:
        if share > 0 and len(latencies) < requests_needed(share):
            return
        yield share, float(np.quantile(latencies, share, method="higher"))


def scenario_color(labels: list[str], **legend: Any) -> Any:  # noqa: ANN401 (Altair)
    """The colour of a scenario, by its label."""
    legend = {"title": None, "columns": 2, "labelLimit": 300, "symbolOpacity": 1, **legend}
    return mark_levels(alt.Color, "label:N", labels, PALETTE, **legend)


def labelled(requests: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    """The requests with a column `label` of the levels of their scenario."""
    labels = {
        row["scenario"]: levels_label(row, factors) or row["scenario"]
        for row in requests.unique("scenario", maintain_order=True).iter_rows(named=True)
    }
    return requests.with_columns(
        label=pl.col("scenario").replace_strict(labels, return_dtype=pl.String)
    )


def scenario_labels(requests: pl.DataFrame, factors: Sequence[str]) -> list[str]:
    """As many scenarios as have colours."""
    labels = labelled(requests, factors)["label"].unique(maintain_order=True).to_list()
    return labels[:MOST_LINES]


def left_out(requests: pl.DataFrame, factors: Sequence[str]) -> Message | None:
    """What a reader must know where scenarios are more than colours."""
    count = labelled(requests, factors)["label"].n_unique()
    if count <= MOST_LINES:
        return None
    return Message(
        "Shown: the first {shown} of {count} scenarios.", {"shown": MOST_LINES, "count": count}
    )
