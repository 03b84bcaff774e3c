"""The figure of a ramp: latency at each rate, and where the endpoint is saturated."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median, median_low
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.quantity import Quantity
from prumo.report.figures.figure import (
    INK,
    PLAIN_NUMBER,
    Extent,
    axis_title,
    draw,
    mark_levels,
    plain,
    value_axis,
)
from prumo_endpoint.load.request_table import RATE, ramp_phase
from prumo_endpoint.report.figures import (
    HEIGHT,
    LATENCY,
    WIDTH,
    labelled,
    left_out,
    scenario_color,
    scenario_labels,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

# An endpoint that answers this share of what is offered still follows; less is no chance.
FOLLOWS = 0.95


@dataclass(frozen=True)
class Goal:
    """What a ramp looked for, and what it found."""

    seconds: float | None = None
    """The latency to keep; None where scenarios differ in it."""
    kept_rates: Mapping[str, float] = field(default_factory=dict)
    """The highest rate that kept it, by run; without the runs that kept it at no rate."""


def rate_figures(
    requests: pl.DataFrame, factors: Sequence[str], goal: Goal, language: Language
) -> list[Figure]:
    """Median and 95th percentile of the latency at each rate that a ramp tried."""
    if not requests.height:
        return []
    tried = labelled(requests, factors).filter(pl.col("phase").str.starts_with(RATE))
    tried = tried.with_columns(rate=pl.col("phase").str.strip_prefix(RATE).cast(pl.Float64))
    answered = tried.filter(pl.col("outcome") == "answered")
    if not answered.height:
        return []
    labels = scenario_labels(answered, factors)
    scale = language.scale(median(answered[LATENCY]), "s")
    middle, slow = language.say("median"), "p95"
    value = pl.col(LATENCY) / scale.factor
    table = (
        answered.filter(pl.col("label").is_in(labels))
        .group_by("label", "rate")
        .agg(value.median().alias(middle), value.quantile(0.95, "higher").alias(slow))
        .unpivot([middle, slow], index=["label", "rate"], variable_name="kind")
        .sort("label", "kind", "rate")
    )
    kept = _kept(tried.filter(pl.col("label").is_in(labels)), goal)
    saturated = {label: _saturated(tried.filter(pl.col("label") == label)) for label in labels}
    goals = [] if goal.seconds is None else [goal.seconds / scale.factor]
    extent = Extent.of([*table["value"], *goals])
    x = alt.X(
        "rate:Q",
        title=language.say("offered requests per second"),
        axis=plain(tickCount=10, format=PLAIN_NUMBER),
    )
    y = alt.Y("value:Q", **value_axis(axis_title(Message("Latency"), scale.unit, language), extent))
    dash = mark_levels(
        alt.StrokeDash,
        "kind:N",
        [middle, slow],
        [[1, 0], [4, 3]],
        title=None,
        symbolType="stroke",
        symbolSize=300,
        symbolStrokeWidth=2,
        symbolStrokeColor=INK,
    )
    color = scenario_color(labels, symbolType="stroke", symbolSize=300, symbolStrokeWidth=2.5)
    is_kept = (pl.col("kind") == slow) & (
        pl.col("rate") == pl.col("label").replace_strict(kept, default=None)
    )
    limits = pl.DataFrame(
        [{"label": label, "rate": rate} for label, rate in saturated.items() if rate],
        schema={"label": pl.String, "rate": pl.Float64},
    )
    goal_line = alt.Chart(pl.DataFrame({"value": goals}, schema={"value": pl.Float64}))
    chart = alt.layer(
        goal_line.mark_rule(color=INK, strokeDash=[1, 2]).encode(y=y),
        alt.Chart(limits).mark_rule(strokeWidth=1.5, opacity=0.6).encode(x=x, color=color),
        alt.Chart(table).mark_line(strokeWidth=1.6).encode(x=x, y=y, color=color, strokeDash=dash),
        alt.Chart(table).mark_point(filled=True, size=30, opacity=1).encode(x=x, y=y, color=color),
        alt.Chart(table.filter(is_kept))
        .mark_point(size=200, color=INK, strokeWidth=1.6)
        .encode(x=x, y=y),
    ).properties(width=WIDTH, height=HEIGHT)
    sentences = [
        Message("Each point is one rate, held for a while."),
        *_readings(goal, kept, limits, language),
        left_out(answered, factors),
        extent.remark,
    ]
    heading = Message("Latency against the rate of requests")
    return [draw(chart, "rate", heading, sentences, language)]


def _readings(
    goal: Goal, kept: Mapping[str, float], limits: pl.DataFrame, language: Language
) -> list[Message]:
    said = []
    if goal.seconds is not None:
        seconds = Quantity(goal.seconds, "s")
        said.append(Message("Dotted: the goal of {goal}.", {"goal": seconds}))
    if kept:
        rates = _listed(kept, language)
        said.append(
            Message("Ringed: the highest rate that keeps the goal ({rates}).", {"rates": rates})
        )
    if limits.height:
        rates = _listed(dict(limits.rows()), language)
        said.append(
            Message(
                "Vertical line: saturated, fewer than {share} % of the requests are answered at "
                "the rate at which they are sent ({rates}).",
                {"share": round(100 * FOLLOWS), "rates": rates},
            )
        )
    return said


def _listed(rates: Mapping[str, float], language: Language) -> str:
    return "; ".join(f"{label}: {language.number(rate, 3)}/s" for label, rate in rates.items())


def _kept(tried: pl.DataFrame, goal: Goal) -> dict[str, float]:
    """The rate that kept the goal in the middle one of a scenario's runs, by label."""
    found: dict[str, list[float]] = {}
    for label, run in tried.select("label", "run").unique(maintain_order=True).iter_rows():
        if run in goal.kept_rates:
            rate = float(ramp_phase(goal.kept_rates[run]).removeprefix(RATE))
            found.setdefault(label, []).append(rate)
    return {label: median_low(rates) for label, rates in found.items()}


def _saturated(tried: pl.DataFrame) -> float | None:
    """The lowest rate from which on answers do not follow; None where they always do."""
    is_answered = pl.col("outcome") == "answered"
    due = pl.col("due_seconds")
    # Between the first and the last answer, since even the first one takes its time.
    end = pl.col("end_seconds").filter(is_answered)
    follows = (
        tried.group_by("run", "rate")
        .agg(share=is_answered.mean() * (due.max() - due.min()) / (end.max() - end.min()))
        .group_by("rate")
        .agg(pl.col("share").median())
        .sort("rate")
    )
    behind: float | None = None
    rows: list[tuple[float, Any]] = follows.rows()
    for rate, share in reversed(rows):
        if share is not None and share >= FOLLOWS:
            break
        behind = rate
    return behind
