"""What was forecast against what came true, a row per scenario."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import INK, PALETTE, Extent, axis_title, caption, plain, value_axis
from prumo.report.figures.rows import draw_rows, label_axis, layout, panel_title, row_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

ROW_PIXELS = 19
PLOT_PIXELS = 640
BAND = "#b8c4ce"
INSIDE, OUTSIDE = Message("fact, inside the interval"), Message("fact, outside of it")
READING = Message(
    "Mean time of a run. Grey: the interval of the forecast, with a line at what was expected. "
    "Points: the mean of the runs that came after it."
)


def forecast_figures(
    check: pl.DataFrame, runs: pl.DataFrame, factors: Sequence[str], language: Language
) -> list[Figure]:
    """A band per scenario with the fact on it; none while no forecast scenario has run."""
    known = check.filter(pl.col("scenario").is_in(runs["scenario"].unique().to_list()))
    if known.is_empty():
        return []
    scale = language.scale(median(known["fact_seconds"].to_list()), "s")
    inside, outside = language.say(INSIDE), language.say(OUTSIDE)
    table = known.select(
        "scenario",
        expected=pl.col("forecast_seconds") / scale.factor,
        low=pl.col("low_seconds") / scale.factor,
        high=pl.col("high_seconds") / scale.factor,
        value=pl.col("fact_seconds") / scale.factor,
        verdict=pl.when("inside").then(pl.lit(inside)).otherwise(pl.lit(outside)),
    )
    facts = [*table["value"], *table["expected"]]
    extent = Extent.of(facts, [*table["low"], *table["high"]])
    title = axis_title(Message("Mean time of a run"), scale.unit, language)
    x = alt.X("value:Q", **value_axis(title, extent))
    scenarios = runs.filter(pl.col("scenario").is_in(known["scenario"].to_list()))
    rows = layout(scenarios, factors)
    plots = [
        _plot(row_columns(table, panel), x, label_axis(), [inside, outside]).properties(
            title=panel_title(panel)
        )
        for panel in rows.panels
    ]
    reading = caption([READING, extent.remark], language)
    heading = Message("Forecast against fact")
    return draw_rows(plots, rows, "forecast", heading, reading, language)


def _plot(table: pl.DataFrame, x: Any, y: Any, verdicts: list[str]) -> Any:  # noqa: ANN401 (Altair)
    base = alt.Chart(table).encode(y=y)
    legend = plain(title=None, orient="top", symbolOpacity=1, labelLimit=0)
    colors = plain(domain=verdicts, range=[PALETTE[0], PALETTE[1]])
    shapes = plain(domain=verdicts, range=["circle", "diamond"])
    return alt.layer(
        base.mark_bar(height=9, color=BAND).encode(x="low:Q", x2="high:Q"),
        base.mark_tick(size=11, thickness=1.5, color=INK).encode(x="expected:Q"),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=x,
            color=alt.Color("verdict:N", sort=verdicts, scale=colors, legend=legend),
            shape=alt.Shape("verdict:N", sort=verdicts, scale=shapes, legend=legend),
        ),
    ).properties(width=PLOT_PIXELS, height=alt.Step(ROW_PIXELS))
