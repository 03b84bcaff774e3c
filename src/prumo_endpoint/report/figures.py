"""Figures about requests: every request over time, the tail, rates, and memory against money."""

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
    Extent,
    axis_title,
    draw,
    mark_levels,
    plain,
    value_axis,
)
from prumo.report.figures.scenarios import BoxWords
from prumo.report.label import levels_label
from prumo_endpoint.load.request_table import requests_needed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

LATENCY = "latency_seconds"
MOST_POINTS = 4000
MOST_LINES = len(PALETTE)
WIDTH, HEIGHT = 640, 300
SMALL_HEIGHT = 190
RATE = "rate="
TAIL_SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999)
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
    table = _labelled(first, factors).filter(pl.col("label").is_in(_labels(first, factors)))
    is_cold = pl.col("is_cold").fill_null(value=False)
    step = -(-table.height // MOST_POINTS)
    table = pl.concat([table.filter(is_cold), table.filter(~is_cold).gather_every(step)])
    cold, warm = language.say("cold start"), language.say("warm")
    scale = language.scale(median(table[LATENCY]), "s")
    points = table.select(
        "label",
        due=pl.col("due_seconds"),
        value=pl.col(LATENCY) / scale.factor,
        kind=pl.when(is_cold).then(pl.lit(cold)).otherwise(pl.lit(warm)),
    )
    extent = Extent.of(points["value"].to_list())
    title = axis_title(Message("Latency"), scale.unit, language)
    labels = points["label"].unique(maintain_order=True).to_list()
    color = mark_levels(
        alt.Color, "label:N", labels, PALETTE, title=None, columns=2, labelLimit=300
    )
    encodings: dict[str, Any] = {
        "x": alt.X("due:Q", title=axis_title(Message("Time in the run"), "s", language)),
        "y": alt.Y("value:Q", **value_axis(title, extent)),
        "color": color,
    }
    has_cold = cold in points["kind"]
    if has_cold:
        encodings["shape"] = mark_levels(
            alt.Shape, "kind:N", [warm, cold], ["circle", "triangle-up"], title=None
        )
    chart = (
        alt.Chart(points)
        .mark_point(size=30, opacity=0.7, filled=True)
        .encode(**encodings)
        .properties(width=WIDTH, height=HEIGHT)
    )
    reading = Message(
        "A mark per request of the first run of each scenario; latency counts from the time at "
        "which it was due."
    )
    return [
        draw(chart, "timeline", Message("Requests over time"), [reading, extent.remark], language)
    ]


def tail_figures(
    answered: pl.DataFrame, factors: Sequence[str], language: Language
) -> list[Figure]:
    """Latency at each percentile, drawn so that the slowest answers have room."""
    if not answered.height:
        return []
    scale = language.scale(median(answered[LATENCY]), "s")
    rows = []
    for label in _labels(answered, factors):
        latencies = (
            _labelled(answered, factors).filter(pl.col("label") == label)[LATENCY].to_numpy()
        )
        rows += [
            {"label": label, "odds": 1 / (1 - share), "value": float(value) / scale.factor}
            for share in TAIL_SHARES
            if share == 0 or len(latencies) >= requests_needed(share)
            for value in [np.quantile(latencies, share, method="higher")]
        ]
    table = pl.DataFrame(rows)
    if max(table["odds"]) < 1 / (1 - _LEAST_TAIL) * 0.999:
        return []
    extent = Extent.of(table["value"].to_list())
    labels = table["label"].unique(maintain_order=True).to_list()
    ticks = {1 / (1 - share): text for share, text in TAIL_TICKS.items()}
    names = " : ".join(f"datum.value < {odds * 1.01} ? '{text}'" for odds, text in ticks.items())
    x = alt.X(
        "odds:Q",
        title=language.say("share of the requests that took no longer"),
        scale=plain(type="log"),
        axis=plain(values=list(ticks), labelExpr=f"{names} : ''"),
    )
    chart = (
        alt.Chart(table)
        .mark_line(point=True, strokeWidth=1.6)
        .encode(
            x=x,
            y=alt.Y(
                "value:Q",
                **value_axis(axis_title(Message("Latency"), scale.unit, language), extent),
            ),
            color=_color(labels),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    reading = Message(
        "A line per scenario, over the requests of all its runs; it ends where there are too few "
        "requests to say more."
    )
    return [draw(chart, "tail", Message("The slowest answers"), [reading, extent.remark], language)]


def rate_figures(
    answered: pl.DataFrame, factors: Sequence[str], language: Language
) -> list[Figure]:
    """Median and 95th percentile of the latency at each rate that a ramp tried."""
    if not answered.height:
        return []
    tried = _labelled(answered, factors).filter(pl.col("phase").str.starts_with(RATE))
    if not tried.height:
        return []
    scale = language.scale(median(tried[LATENCY]), "s")
    middle, slow = language.say("median"), "p95"
    value = pl.col(LATENCY) / scale.factor
    table = (
        tried.with_columns(rate=pl.col("phase").str.strip_prefix(RATE).cast(pl.Float64))
        .group_by("label", "rate")
        .agg(value.median().alias(middle), value.quantile(0.95, "higher").alias(slow))
        .unpivot([middle, slow], index=["label", "rate"], variable_name="kind")
        .sort("label", "kind", "rate")
    )
    extent = Extent.of(table["value"].to_list())
    labels = table["label"].unique(maintain_order=True).to_list()
    chart = (
        alt.Chart(table)
        .mark_line(point=True, strokeWidth=1.6)
        .encode(
            x=alt.X("rate:Q", title=language.say("offered requests per second")),
            y=alt.Y(
                "value:Q",
                **value_axis(axis_title(Message("Latency"), scale.unit, language), extent),
            ),
            color=_color(labels),
            strokeDash=mark_levels(
                alt.StrokeDash, "kind:N", [middle, slow], [[1, 0], [4, 3]], title=None
            ),
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    reading = Message(
        "Each point is one rate, held for a while; where the line turns upwards the endpoint is "
        "saturated."
    )
    heading = Message("Latency against the rate of requests")
    return [draw(chart, "rate", heading, [reading, extent.remark], language)]


def memory_figures(
    report: Report, memory_mb: Mapping[str, int], language: Language
) -> list[Figure]:
    """Mean latency and cost over the memory of an instance."""
    measured = set(report.metric_summary(LATENCY)["scenario"])
    memory_mb = {name: size for name, size in memory_mb.items() if name in measured}
    if len(set(memory_mb.values())) < 2:  # noqa: PLR2004 (one is no choice)
        return []
    money = report.cost_metric
    known = set(report.summary["metric"])
    metrics = [metric for metric in (LATENCY, money) if metric is not None and metric in known]
    others = [
        factor for factor in report.varying if factor not in {"machine", "environment", "memory_mb"}
    ]
    plots = []
    for metric in metrics:
        table, unit = _memory_table(report, metric, memory_mb, others, language)
        name = Message("Mean latency") if metric == LATENCY else Message("Cost per 1,000 answers")
        plots.append(_memory_plot(table, axis_title(name, unit, language), language))
    reading = Message(
        "Mean of the runs, with its confidence interval. Ringed: the least of each line; the "
        "balanced size has the least product of time and cost."
    )
    best = _balanced(report, memory_mb, others) if money else []
    sentences = [
        Message(
            "{label}: fastest with {fastest} MB, cheapest with {cheapest} MB, balanced with "
            "{balanced} MB.",
            row,
        )
        for row in best
    ]
    chart = alt.vconcat(*plots, spacing=18).resolve_scale(color="shared")
    heading = Message("Time and cost against memory")
    return [draw(chart, "memory", heading, [reading, *sentences], language)]


def _memory_table(
    report: Report,
    metric: str,
    memory_mb: Mapping[str, int],
    others: Sequence[str],
    language: Language,
) -> tuple[pl.DataFrame, str]:
    summary = report.metric_summary(metric)
    per = 1.0 if metric == LATENCY else 1000.0
    scale = language.scale(median(summary["mean"]) * per, summary["unit"][0])
    rows = [
        {
            "label": levels_label(row, others) or " ",
            "memory": memory_mb[row["scenario"]],
            "value": row["mean"] * per / scale.factor,
            "low": None if row["ci_low"] is None else row["ci_low"] * per / scale.factor,
            "high": None if row["ci_high"] is None else row["ci_high"] * per / scale.factor,
        }
        for row in summary.iter_rows(named=True)
        if row["scenario"] in memory_mb
    ]
    table = pl.DataFrame(rows, infer_schema_length=None).sort("label", "memory")
    least = pl.col("value") == pl.col("value").min().over("label")
    return table.with_columns(is_least=least), scale.unit


def _memory_plot(table: pl.DataFrame, title: str, language: Language) -> Any:  # noqa: ANN401 (Altair)
    extent = Extent.of(table["value"].to_list(), [*table["low"], *table["high"]])
    labels = table["label"].unique(maintain_order=True).to_list()
    sizes = sorted(set(table["memory"].to_list()))
    x = alt.X(
        "memory:Q",
        title=axis_title(Message("Memory of an instance"), "MB", language),
        scale=plain(domain=[sizes[0] * 0.9, sizes[-1] * 1.05], nice=False, zero=False),
        axis=plain(values=sizes),
    )
    y = alt.Y("value:Q", **value_axis(title, extent))
    color = mark_levels(
        alt.Color, "label:N", labels, PALETTE, title=None, columns=2, labelLimit=300
    )
    base = alt.Chart(table).encode(x=x, color=color)
    return alt.layer(
        base.mark_line(strokeWidth=1.6).encode(y=y),
        base.mark_rule(strokeWidth=1.4).encode(y="low:Q", y2="high:Q"),
        base.mark_point(filled=True, size=50, opacity=1).encode(y=y),
        alt.Chart(table.filter("is_least"))
        .mark_point(size=200, color=INK, strokeWidth=1.3)
        .encode(x=x, y=y),
    ).properties(width=WIDTH, height=SMALL_HEIGHT)


def _balanced(
    report: Report, memory_mb: Mapping[str, int], others: Sequence[str]
) -> list[dict[str, Any]]:
    """The fastest, the cheapest and the balanced memory of each line."""
    times = {row["scenario"]: row for row in report.metric_summary(LATENCY).iter_rows(named=True)}
    costs = report.metric_summary(report.cost_metric or "").iter_rows(named=True)
    lines: dict[str, list[tuple[int, float, float]]] = {}
    for row in costs:
        scenario = row["scenario"]
        if scenario in memory_mb and scenario in times:
            found = (memory_mb[scenario], times[scenario]["mean"], row["mean"])
            lines.setdefault(levels_label(row, others), []).append(found)
    return [
        {
            "label": label or "All",
            "fastest": min(found, key=lambda each: each[1])[0],
            "cheapest": min(found, key=lambda each: each[2])[0],
            "balanced": min(found, key=lambda each: each[1] * each[2])[0],
        }
        for label, found in lines.items()
    ]


def _color(labels: list[str]) -> Any:  # noqa: ANN401 (Altair)
    return mark_levels(alt.Color, "label:N", labels, PALETTE, title=None, columns=2, labelLimit=300)


def _labelled(requests: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    """The requests with a column `label` of the levels of their scenario."""
    labels = {
        row["scenario"]: levels_label(row, factors) or row["scenario"]
        for row in requests.unique("scenario", maintain_order=True).iter_rows(named=True)
    }
    return requests.with_columns(
        label=pl.col("scenario").replace_strict(labels, return_dtype=pl.String)
    )


def _labels(requests: pl.DataFrame, factors: Sequence[str]) -> list[str]:
    """As many scenarios as have colours."""
    labels = _labelled(requests, factors)["label"].unique(maintain_order=True).to_list()
    return labels[:MOST_LINES]
