"""How the runs of a scenario spread: a box plot per scenario with every run as a point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.analyse.metric import metric_of
from prumo.message import Message
from prumo.report.figures.figure import INK, Extent, axis_title, caption, value_axis
from prumo.report.figures.rows import draw_rows, label_axis, layout, panel_title, row_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

ROW_PIXELS = 30
PLOT_PIXELS = 640
BOX_PIXELS = 12
BOX_OFFSET = -4
# Points lie below their box in a few lanes, so that equal values do not hide each other.
LANE_OFFSETS = (6, 9, 12)
# Tukey (1977), Exploratory Data Analysis: whiskers go to the last value within 1.5 box lengths.
WHISKER_LENGTHS = 1.5
# With fewer runs a box shows no more than its points do.
FEWEST_RUNS = 8
MOST_POINTS = 4000
READING = Message(
    "Box: the middle half of the runs, with a line at the median. Whiskers: the last runs within "
    "1.5 lengths of the box."
)
RUNS = Message("Dots: single runs.")
RUNS_OUTSIDE = Message("Dots: the runs outside of the whiskers.")


def has_many_runs(runs: pl.DataFrame, metric: str) -> bool:
    """Whether half of the scenarios have enough values of a metric for a box."""
    counts = runs.drop_nulls(metric).group_by("scenario").len()
    return counts.filter(pl.col("len") >= FEWEST_RUNS).height * 2 >= max(1, counts.height)


def boxes_figures(
    runs: pl.DataFrame, factors: Sequence[str], metric: str, language: Language
) -> list[Figure]:
    """Median, quartiles and whiskers, and the runs themselves below."""
    known = metric_of(metric)
    measured = runs.drop_nulls(metric)
    scale = language.scale(measured.select(pl.col(metric).median()).item(), known.unit)
    values = measured.select("scenario", value=pl.col(metric) / scale.factor)
    boxes = _boxes(values)
    points, all_shown = _points(values, boxes)
    extent = Extent.of(values["value"].to_list(), [])
    rows = layout(measured, factors)
    title = axis_title(known.title, scale.unit, language)
    x = alt.X("value:Q", **value_axis(title, extent))
    panels = [
        _plot(
            row_columns(boxes, panel), row_columns(points, panel), x, label_axis(), rows.color
        ).properties(title=panel_title(panel))
        for panel in rows.panels
    ]
    title_of_figure = Message("Spread of the runs: {metric}", {"metric": known.title})
    reading = caption([READING, RUNS if all_shown else RUNS_OUTSIDE, extent.remark], language)
    return draw_rows(panels, rows, "boxes", title_of_figure, reading, language)


def _boxes(values: pl.DataFrame) -> pl.DataFrame:
    value = pl.col("value")
    quartiles = values.group_by("scenario", maintain_order=True).agg(
        q1=value.quantile(0.25, "linear"), median=value.median(), q3=value.quantile(0.75, "linear")
    )
    reach = WHISKER_LENGTHS * (pl.col("q3") - pl.col("q1"))
    inside = values.join(quartiles, on="scenario").filter(
        value.is_between(pl.col("q1") - reach, pl.col("q3") + reach)
    )
    whiskers = inside.group_by("scenario").agg(low=value.min(), high=value.max())
    return quartiles.join(whiskers, on="scenario", maintain_order="left")


def _points(values: pl.DataFrame, boxes: pl.DataFrame) -> tuple[pl.DataFrame, bool]:
    placed = values.with_columns(
        lane=(pl.int_range(pl.len()).over("scenario") % len(LANE_OFFSETS)),
    )
    if placed.height <= MOST_POINTS:
        return placed, True
    outside = ~pl.col("value").is_between("low", "high")
    return placed.join(boxes, on="scenario").filter(outside).select(placed.columns), False


def _plot(boxes: pl.DataFrame, points: pl.DataFrame, x: Any, y: Any, color: Any) -> Any:  # noqa: ANN401 (Altair)
    base = alt.Chart(boxes).encode(y=y)
    dots = [
        alt.Chart(points.filter(pl.col("lane") == lane))
        .mark_circle(size=14, opacity=0.6, yOffset=offset)
        .encode(x=x, y=y, color=color)
        for lane, offset in enumerate(LANE_OFFSETS)
    ]
    return alt.layer(
        base.mark_rule(yOffset=BOX_OFFSET, color=INK).encode(x="low:Q", x2="high:Q"),
        base.mark_bar(height=BOX_PIXELS, yOffset=BOX_OFFSET, stroke=INK, strokeWidth=1).encode(
            x="q1:Q", x2="q3:Q", color=color
        ),
        base.mark_tick(yOffset=BOX_OFFSET, size=BOX_PIXELS, thickness=2, color="white").encode(
            x="median:Q"
        ),
        *dots,
    ).properties(width=PLOT_PIXELS, height=alt.Step(ROW_PIXELS))
