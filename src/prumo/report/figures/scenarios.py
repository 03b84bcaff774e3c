"""Every run and every mean of one metric, a row per scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.analyse.metric import metric_of
from prumo.message import Message
from prumo.report.figures.figure import Extent, axis_title, caption, value_axis
from prumo.report.figures.rows import draw_rows, label_axis, layout, panel_title, row_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

ROW_PIXELS = 20
# Runs lie below the mean of their row, so that neither hides the other.
BELOW, ABOVE = 5, -3
PLOT_PIXELS = 640


def scenarios_figures(  # noqa: PLR0913 (what a figure shows, and how it is told)
    runs: pl.DataFrame,
    summary: pl.DataFrame,
    factors: Sequence[str],
    metric: str,
    confidence: float,
    language: Language,
) -> list[Figure]:
    """Dots for runs, a diamond and a bar for the mean and its interval."""
    known = metric_of(metric)
    scale = language.scale(max(summary["mean"].to_list()), known.unit)
    means = summary.select(
        "scenario",
        value=pl.col("mean") / scale.factor,
        low=pl.col("ci_low") / scale.factor,
        high=pl.col("ci_high") / scale.factor,
    )
    dots = runs.drop_nulls(metric).select("scenario", value=pl.col(metric) / scale.factor)
    ends = pl.concat([means["low"], means["high"]]).drop_nulls()
    extent = Extent.of([*dots["value"], *means["value"]], ends.to_list())
    x = alt.X("value:Q", **value_axis(axis_title(known.title, scale.unit, language), extent))
    rows = layout(summary, factors)
    plots = [
        _plot(row_columns(means, panel), row_columns(dots, panel), x, rows.color).properties(
            title=panel_title(panel)
        )
        for panel in rows.panels
    ]
    heading = Message("Every run: {metric}", {"metric": known.title})
    reading = caption([_reading(confidence), extent.remark], language)
    return draw_rows(plots, rows, "runs", heading, reading, language)


def _reading(confidence: float) -> Message:
    return Message(
        "Dots: single runs. Diamond and bar: mean and {confidence:g} % confidence interval; a "
        "diamond without a bar is a single run.",
        {"confidence": 100 * confidence},
    )


def _plot(means: pl.DataFrame, dots: pl.DataFrame, x: Any, color: Any) -> Any:  # noqa: ANN401 (Altair)
    y = label_axis()
    base = alt.Chart(means).encode(y=y, color=color)
    return alt.layer(
        base.mark_rule(strokeWidth=2.5, yOffset=ABOVE).encode(x="low:Q", x2="high:Q"),
        alt.Chart(dots)
        .mark_circle(size=26, opacity=0.5, yOffset=BELOW)
        .encode(x=x, y=y, color=color),
        base.mark_point(shape="diamond", filled=True, opacity=1, size=90, yOffset=ABOVE).encode(
            x=x
        ),
    ).properties(width=PLOT_PIXELS, height=alt.Step(ROW_PIXELS))
