"""How much of the machine is in use over the time of a run, a panel per scenario."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.analyse.usage import resources_of, usage_by_scenario
from prumo.message import Message
from prumo.report.figures.curves import DASHES
from prumo.report.figures.figure import PALETTE, caption, draw, plain
from prumo.report.figures.panels import MOST_PANELS, in_two_lines, panels, ticks
from prumo.report.label import row_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

# Ours: where most curves have fewer points, a reader would take chance for a course.
FEWEST_SPANS = 4
READING = Message(
    "Share of the whole machine in use over the time of a run, set-up included: mean of the "
    "finished runs of each scenario, in seconds of their mean time, and the band between the least "
    "and the most of them. Each panel has its own time axis."
)
BAND_OPACITY = 0.2


def usage_figure(
    over_time: pl.DataFrame, runs: pl.DataFrame, factors: Sequence[str], language: Language
) -> Figure | None:
    """CPU, memory and GPUs of every scenario; None where nothing was sampled for long enough."""
    labels = _labels(runs, factors)
    shown = dict(list(labels.items())[:MOST_PANELS])
    resources = {language.say(title): columns for title, columns in resources_of(over_time.columns)}
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
