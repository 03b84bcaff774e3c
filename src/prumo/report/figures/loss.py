"""How the loss falls during training, with the levels that are compared in one panel."""

from __future__ import annotations

from math import log10
from statistics import median
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.curves import DASHES, MOST_PANELS, curves_of, in_two_lines, panels, ticks
from prumo.report.figures.figure import (
    LOGARITHMIC_RATIO,
    PALETTE,
    caption,
    draw,
    plain,
    round_numbers,
)
from prumo.report.label import row_label
from prumo.statistics.convergence import SMOOTHED_SHARE
from prumo.statistics.profile import Resource, resources_of, usage_by_scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.statistics.convergence import Losses


FEWEST_POINTS = 3
POINTS = 60
FEWEST_TICKS = 3
# From here on the first epochs, in which most is learnt, deserve most of the axis.
LOGARITHMIC_FROM = 8
BATCH = "batch_size"

BY_EPOCH = Message("Mean loss of the finished runs of each scenario, by epoch.")
BY_STEP = Message("Mean loss of the finished runs of each scenario, by step.")
SMOOTHED = Message(
    "Each value is the mean over the steps until there that make up {percent:g} % of the run, so "
    "a curve begins where the first such span ends.",
    {"percent": 100 * SMOOTHED_SHARE},
)
THINNED = Message(
    "A curve has {points} points at most, each the mean of what lies around it.",
    {"points": POINTS},
)
LOGARITHMIC_X = Message("The horizontal axis is logarithmic.")
LOGARITHMIC_Y = Message("The axis of the loss is logarithmic.")
BELOW_ZERO = Message("A loss below zero is a defect of the program that reported it.")


def loss_figure(
    losses: Losses, runs: pl.DataFrame, factors: Sequence[str], language: Language
) -> Figure | None:
    """The loss over epochs, or over the steps of a few; None where too little was reported."""
    means = _means(losses, runs)
    if max(means.group_by("scenario").len()["len"], default=0) < FEWEST_POINTS:
        return None
    curves = curves_of(runs, factors, BATCH)
    longest = int(losses.table.select(pl.col("place").max()).item())
    places, values = means["place"].to_list(), means["value"].to_list()
    positive = min(values) > 0
    log_x = max(places) >= LOGARITHMIC_FROM
    log_y = positive and max(values) > LOGARITHMIC_RATIO * min(values)
    x = alt.X("place:Q", title=None, **_axis(places, logarithmic=log_x, format="d", tickMinStep=1))
    y = alt.Y("value:Q", title=None, **_axis(values, logarithmic=log_y))
    base = alt.Chart().encode(x=x, y=y)
    chart = alt.layer(
        base.mark_line(strokeWidth=1.6).encode(**curves.marks),
        # A line through one point has no length.
        base.mark_point(filled=True, size=40)
        .encode(color=curves.marks["color"])
        .transform_filter("datum.points == 1"),
        data=curves.of(means.with_columns(points=pl.len().over("scenario"))),
    )
    return draw(
        panels(chart, curves.panel_order),
        "loss",
        language.say("Loss during training"),
        caption(
            [
                BY_EPOCH if losses.unit == "epoch" else BY_STEP,
                SMOOTHED if losses.unit == "step" and longest * SMOOTHED_SHARE > 1 else None,
                THINNED if longest > POINTS else None,
                LOGARITHMIC_X if log_x else None,
                LOGARITHMIC_Y if log_y else None,
                None if positive else BELOW_ZERO,
            ],
            language,
        ),
        language,
    )


def _axis(values: Sequence[float], *, logarithmic: bool, **options: Any) -> dict[str, Any]:  # noqa: ANN401 (Altair)
    low, high = min(values), max(values)
    if not logarithmic:
        return {"scale": plain(zero=False, nice=False), "axis": ticks(**options)}
    numbers = round_numbers(low, high)
    decades = [number for number in numbers if log10(number) % 1 == 0]
    return {
        "scale": plain(type="log", domain=[low, high], nice=False),
        "axis": ticks(values=decades if len(decades) >= FEWEST_TICKS else numbers, **options),
    }


def _means(losses: Losses, runs: pl.DataFrame) -> pl.DataFrame:
    """The mean over the runs of a scenario, at no more places than a curve needs."""
    table = losses.table.join(runs.select("run", "scenario"), on="run", how="inner")
    width = (pl.col("place").max().over("run") / POINTS).ceil()
    return (
        table.with_columns(bin=(pl.col("place") / width).ceil())
        .group_by("scenario", "bin")
        .agg(pl.col("place").mean(), value=pl.col("loss").mean())
        .sort("scenario", "place")
    )


# Ours: where most curves have fewer points, a reader would take chance for a course.
FEWEST_SPANS = 4
READING = Message(
    "Share of the whole machine in use over the time of a run, set-up included: mean of the "
    "finished runs of each scenario, in seconds of their mean time, and the band between the least "
    "and the most of them. Each panel has its own time axis."
)
BAND_OPACITY = 0.2
RESOURCE_NAMES = {
    Resource.CPU: "CPU",
    Resource.MEMORY: "memory",
    Resource.GPU: "GPU",
    Resource.GPU_MEMORY: "GPU memory",
}


def usage_figure(
    over_time: pl.DataFrame, runs: pl.DataFrame, factors: Sequence[str], language: Language
) -> Figure | None:
    """CPU, memory and GPUs of every scenario; None where nothing was sampled for long enough."""
    labels = _labels(runs, factors)
    shown = dict(list(labels.items())[:MOST_PANELS])
    resources = {
        language.say(RESOURCE_NAMES[resource]): columns
        for resource, columns in resources_of(over_time.columns).items()
    }
    seen = runs.filter(pl.col("scenario").is_in(list(shown)))
    means = usage_by_scenario(over_time, seen, resources)
    spans = means.group_by("scenario", "resource").len()["len"].to_list()
    if not spans or median(spans) < FEWEST_SPANS:
        return None
    table = means.with_columns(
        panel=pl.col("scenario").replace_strict(shown, return_dtype=pl.String)
    )
    chart = _chart(table, list(resources))
    left = len(labels) - len(shown)
    remark = Message("{left} further scenarios are not shown.", {"left": left}) if left else None
    return draw(
        panels(chart, list(shown.values()), own_x=True),
        "usage",
        language.say("Use of the machine over time"),
        caption([READING, remark], language),
        language,
    )


def _labels(runs: pl.DataFrame, factors: Sequence[str]) -> dict[str, str]:
    rows = runs.select("scenario", *factors).unique("scenario", maintain_order=True)
    return {row["scenario"]: in_two_lines(row_label(row, factors)) for row in rows.rows(named=True)}


def _chart(table: pl.DataFrame, names: list[str]) -> Any:  # noqa: ANN401 (Altair)
    # The legend is the bands' too, whose paleness it shall not take over.
    legend = plain(title=None, orient="top", symbolType="stroke", symbolSize=400, symbolOpacity=1)
    colors = plain(domain=names, range=PALETTE[: len(names)])
    dashes = plain(domain=names, range=DASHES[: len(names)])
    percent = {"title": "%", "scale": plain(domain=[0, 100])}
    base = alt.Chart().encode(
        x=alt.X("seconds:Q", title=None, axis=ticks(), scale=plain(nice=False)),
        color=alt.Color("resource:N", sort=names, scale=colors, legend=legend),
    )
    # A single run has no band.
    bands = base.transform_filter("datum.runs > 1").mark_area(opacity=BAND_OPACITY)
    return alt.layer(
        bands.encode(y=alt.Y("low:Q", **percent, axis=ticks(values=[0, 50, 100])), y2="high:Q"),
        base.mark_line(strokeWidth=1.5).encode(
            y=alt.Y("mean:Q", **percent),
            strokeDash=alt.StrokeDash("resource:N", sort=names, scale=dashes, legend=legend),
        ),
        data=table,
    )
