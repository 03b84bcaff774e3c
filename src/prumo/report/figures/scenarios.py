"""Charts with a row per scenario: dots of every run, boxes of their spread, bars of the means."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import (
    INK,
    PLAIN_NUMBER,
    Extent,
    axis_title,
    draw_rows,
    label_axis,
    layout,
    plain,
    row_columns,
    scaled_means,
    value_axis,
)
from prumo.report.label import metric_title
from prumo.statistics.metric import metric_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prumo.report.figures.figure import Figure, Rows
    from prumo.report.language import Language

DOT_ROW_PIXELS = 20
# Runs lie below the mean of their row, so that neither hides the other.
RUN_OFFSET, MEAN_OFFSET = 5, -3
PLOT_PIXELS = 640
BOX_ROW_PIXELS = 30
BOX_PIXELS = 12
BOX_OFFSET = -4
# Points lie below their box in a few lanes, so that equal values do not hide each other.
LANE_OFFSETS = (6, 9, 12)
# Tukey (1977), Exploratory Data Analysis: whiskers go to the last value within 1.5 box lengths.
WHISKER_LENGTHS = 1.5
# With fewer runs a box shows no more than its points do.
FEWEST_RUNS_FOR_BOX = 8
MOST_POINTS = 4000


@dataclass(frozen=True)
class BoxWords:
    """How a figure of boxes is called and explained."""

    name: str
    title: Callable[[Message | str], Message]
    """Of a metric with this title."""
    box: Message
    dots: Message
    dots_outside: Message
    axis: Message | None = None
    """What the values are; None for the metric's own title."""


RUN_BOXES = BoxWords(
    "boxes",
    lambda metric: Message("Spread of the runs: {metric}", {"metric": metric}),
    Message(
        "Box: the middle half of the runs, with a line at the median. Whiskers: the last runs "
        "within 1.5 lengths of the box."
    ),
    Message("Dots: single runs."),
    Message("Dots: the runs outside of the whiskers."),
)

BAR_ROW_PIXELS = 19
BAR_PLOT_PIXELS = {1: 640, 2: 315}
"""The width of a panel, by how many stand side by side."""
DIGITS = 3
# How much further than the longest bar an axis goes, so that the number behind it has room.
ROOM_FOR_NUMBER = 1.25
# Panels whose longest bars differ by more than this have an axis each, or the short ones vanish.
OWN_AXIS_RATIO = 4.0
OWN_AXES = Message("Each panel has its own axis: across panels compare the numbers.")


def scenarios_figures(  # noqa: PLR0913 (what a figure shows, and how it is told)
    runs: pl.DataFrame,
    summary: pl.DataFrame,
    factors: Sequence[str],
    metric: str,
    confidence: float,
    language: Language,
) -> list[Figure]:
    """Dots for runs, a diamond and a bar for the mean and its interval."""
    scale = language.scale(max(summary["mean"].to_list()), metric_of(metric).unit, metric)
    means = scaled_means(summary, scale.factor)
    dots = runs.drop_nulls(metric).select("scenario", value=pl.col(metric) / scale.factor)
    extent = Extent.of([*dots["value"], *means["value"]], [*means["low"], *means["high"]])
    title = axis_title(metric_title(metric), scale.unit, language)
    x = alt.X("value:Q", **value_axis(title, extent))
    rows = layout(summary, factors)

    heading = Message("Every run: {metric}", {"metric": metric_title(metric)})
    reading = Message(
        "Dots: single runs. Diamond and bar: mean and {confidence:g} % confidence interval; a "
        "diamond without a bar is a single run.",
        {"confidence": 100 * confidence},
    )
    return draw_rows(
        lambda panel: _dot_chart(
            row_columns(means, panel), row_columns(dots, panel), x, rows.color
        ),
        rows,
        "runs",
        heading,
        [reading, extent.remark],
        language,
    )


def _dot_chart(means: pl.DataFrame, dots: pl.DataFrame, x: Any, color: Any) -> Any:
    y = label_axis()
    base = alt.Chart(means).encode(y=y, color=color)
    return alt.layer(
        base.mark_rule(strokeWidth=2.5, yOffset=MEAN_OFFSET).encode(x="low:Q", x2="high:Q"),
        alt.Chart(dots)
        .mark_circle(size=26, opacity=0.5, yOffset=RUN_OFFSET)
        .encode(x=x, y=y, color=color),
        base.mark_point(
            shape="diamond", filled=True, opacity=1, size=90, yOffset=MEAN_OFFSET
        ).encode(x=x),
    ).properties(width=PLOT_PIXELS, height=alt.Step(DOT_ROW_PIXELS))


def has_many_runs(runs: pl.DataFrame, metric: str) -> bool:
    """Whether half of the scenarios have enough values of a metric for a box."""
    counts = runs.drop_nulls(metric).group_by("scenario").len()
    return counts.filter(pl.col("len") >= FEWEST_RUNS_FOR_BOX).height * 2 >= max(1, counts.height)


def boxes_figures(
    runs: pl.DataFrame,
    factors: Sequence[str],
    metric: str,
    language: Language,
    words: BoxWords = RUN_BOXES,
) -> list[Figure]:
    """Median, quartiles and whiskers, and the runs (or what a row stands for) themselves below."""
    measured = runs.drop_nulls(metric)
    scale = language.scale(
        measured.select(pl.col(metric).median()).item(), metric_of(metric).unit, metric
    )
    values = measured.select("scenario", value=pl.col(metric) / scale.factor)
    boxes = _boxes(values)
    points, all_shown = _points(values, boxes)
    extent = Extent.of(values["value"].to_list())
    rows = layout(measured, factors)
    title = axis_title(words.axis or metric_title(metric), scale.unit, language)
    x = alt.X("value:Q", **value_axis(title, extent))
    return draw_rows(
        lambda panel: _box_chart(
            row_columns(boxes, panel), row_columns(points, panel), x, rows.color
        ),
        rows,
        words.name,
        words.title(metric_title(metric)),
        [words.box, words.dots if all_shown else words.dots_outside, extent.remark],
        language,
    )


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


def _box_chart(boxes: pl.DataFrame, points: pl.DataFrame, x: Any, color: Any) -> Any:
    y = label_axis()
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
    ).properties(width=PLOT_PIXELS, height=alt.Step(BOX_ROW_PIXELS))


def bars_figures(
    summary: pl.DataFrame,
    factors: Sequence[str],
    metrics: Sequence[str],
    confidence: float,
    language: Language,
) -> list[Figure]:
    """A bar from zero per scenario and for each of one or two metrics, with interval and number."""
    rows = layout(summary.filter(pl.col("metric").is_in(metrics)), factors)
    tables = [_bars(summary.filter(pl.col("metric") == name), language) for name in metrics]
    own_axes = any(_far_apart(table, rows.panels) for _, table in tables)

    def plot(panel: Rows) -> Any:
        plots = []
        for place, (title, table) in enumerate(tables):
            inside = row_columns(table, panel)
            x = _value_axis(title, _longest(inside if own_axes else table))
            bars = _bar_chart(inside, x, label_axis(shown=place == 0), rows.color)
            plots.append(bars.properties(width=BAR_PLOT_PIXELS[len(metrics)]))
        return alt.hconcat(*plots, spacing=14)

    heading = (
        Message("{metric} of every scenario", {"metric": metric_title(metrics[0])})
        if len(metrics) == 1
        else Message("Time and cost of every scenario")
    )
    reading = Message(
        "Bar and number: mean of the finished runs. Whisker: its {confidence:g} % confidence "
        "interval; a bar without one is a single run.",
        {"confidence": 100 * confidence},
    )
    sentences = [reading, OWN_AXES if own_axes else None]
    return draw_rows(plot, rows, "bars", heading, sentences, language)


def _bars(summary: pl.DataFrame, language: Language) -> tuple[str, pl.DataFrame]:
    """The title of the axis, and the bars of one metric."""
    scale = language.scale(
        median(summary["mean"].to_list()), summary["unit"][0], summary["metric"][0]
    )
    means = scaled_means(summary, scale.factor)
    numbers = [language.number(value, DIGITS) for value in means["value"]]
    return axis_title(metric_title(summary["metric"][0]), scale.unit, language), means.with_columns(
        end=pl.max_horizontal("value", "high"), number=pl.Series(numbers, dtype=pl.String)
    )


def _bar_chart(table: pl.DataFrame, x: Any, y: Any, color: Any) -> Any:
    base = alt.Chart(table).encode(y=y)
    return alt.layer(
        base.mark_bar(height={"band": 0.72}).encode(x=x, color=color),
        base.mark_rule(strokeWidth=1.5, color=INK).encode(x="low:Q", x2="high:Q"),
        base.mark_tick(thickness=1.5, size=7, color=INK).encode(x="low:Q"),
        base.mark_tick(thickness=1.5, size=7, color=INK).encode(x="high:Q"),
        base.mark_text(align="left", dx=5, fontSize=10, color=INK).encode(
            x="end:Q", text="number:N"
        ),
    ).properties(height=alt.Step(BAR_ROW_PIXELS))


def _value_axis(title: str, longest: float) -> Any:
    domain = [0, ROOM_FOR_NUMBER * longest or 1.0]
    return alt.X(
        "value:Q",
        title=title,
        # An interval may reach below zero where a time cannot.
        scale=plain(domain=domain, nice=False, clamp=True),
        axis=plain(tickCount=5, format=PLAIN_NUMBER, labelOverlap=True),
    )


def _far_apart(table: pl.DataFrame, panels: Sequence[Rows]) -> bool:
    longest = [_longest(row_columns(table, panel)) for panel in panels]
    found = [length for length in longest if length > 0]
    return bool(found) and max(found) > OWN_AXIS_RATIO * min(found)


def _longest(table: pl.DataFrame) -> float:
    return max(table["end"].to_list(), default=0.0)
