"""Means with their intervals as bars: time and money of every scenario side by side."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.analyse.metric import metric_of
from prumo.message import Message
from prumo.report.figures.figure import INK, PLAIN_NUMBER, axis_title, caption, plain
from prumo.report.figures.rows import draw_rows, label_axis, layout, panel_title, row_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.quantity import Scale
    from prumo.report.figures.figure import Figure
    from prumo.report.figures.rows import Rows
    from prumo.report.language import Language

ROW_PIXELS = 19
PANEL_PIXELS = {1: 640, 2: 315}
"""The width of a panel, by how many stand side by side."""
DIGITS = 3
# How much further than the longest bar an axis goes, so that the number behind it has room.
ROOM_FOR_NUMBER = 1.25
# Panels whose longest bars differ by more than this have an axis each, or the short ones vanish.
OWN_AXIS_RATIO = 4.0
OWN_AXES = Message("Each panel has its own axis: across panels compare the numbers.")


def bars_figures(
    summary: pl.DataFrame,
    factors: Sequence[str],
    metrics: Sequence[str],
    confidence: float,
    language: Language,
) -> list[Figure]:
    """A bar from zero per scenario and for each of one or two metrics, with interval and number."""
    rows = layout(summary.filter(pl.col("metric").is_in(metrics)), factors)
    tables = {name: _bars(summary.filter(pl.col("metric") == name), language) for name in metrics}
    own_axes = any(_far_apart(table, rows.panels) for table in tables.values())
    groups = []
    for panel in rows.panels:
        plots = []
        for place, (metric, table) in enumerate(tables.items()):
            inside = row_columns(table, panel)
            longest = _longest(inside if own_axes else table)
            x = _value_axis(_title(metric, summary, language), longest)
            plot = _plot(inside, x, label_axis(shown=place == 0), rows.color)
            plots.append(plot.properties(width=PANEL_PIXELS[len(metrics)]))
        groups.append(alt.hconcat(*plots, spacing=14, title=panel_title(panel)))
    reading = caption([_reading(confidence), OWN_AXES if own_axes else None], language)
    return draw_rows(groups, rows, "bars", _heading(metrics), reading, language)


def _bars(summary: pl.DataFrame, language: Language) -> pl.DataFrame:
    scale = _scale(summary, language)
    means = summary.select(
        "scenario",
        value=pl.col("mean") / scale.factor,
        low=pl.col("ci_low") / scale.factor,
        high=pl.col("ci_high") / scale.factor,
    )
    return means.with_columns(
        end=pl.max_horizontal("value", "high"),
        number=pl.Series(
            [language.number(value, DIGITS) for value in means["value"]], dtype=pl.String
        ),
    )


def _plot(table: pl.DataFrame, x: Any, y: Any, color: Any) -> Any:  # noqa: ANN401 (Altair)
    base = alt.Chart(table).encode(y=y)
    return alt.layer(
        base.mark_bar(height={"band": 0.72}).encode(x=x, color=color),
        base.mark_rule(strokeWidth=1.5, color=INK).encode(x="low:Q", x2="high:Q"),
        base.mark_tick(thickness=1.5, size=7, color=INK).encode(x="low:Q"),
        base.mark_tick(thickness=1.5, size=7, color=INK).encode(x="high:Q"),
        base.mark_text(align="left", dx=5, fontSize=10, color=INK).encode(
            x="end:Q", text="number:N"
        ),
    ).properties(height=alt.Step(ROW_PIXELS))


def _value_axis(title: str, longest: float) -> Any:  # noqa: ANN401 (Altair)
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


def _scale(summary: pl.DataFrame, language: Language) -> Scale:
    return language.scale(median(summary["mean"].to_list()), summary["unit"][0])


def _title(metric: str, summary: pl.DataFrame, language: Language) -> str:
    unit = _scale(summary.filter(pl.col("metric") == metric), language).unit
    return axis_title(metric_of(metric).title, unit, language)


def _heading(metrics: Sequence[str]) -> Message:
    first, *rest = (metric_of(metric).title for metric in metrics)
    if not rest:
        return Message("{metric} of every scenario", {"metric": first})
    return Message("Time and cost of every scenario")


def _reading(confidence: float) -> Message:
    return Message(
        "Bar and number: mean of the finished runs. Whisker: its {confidence:g} % confidence "
        "interval; a bar without one is a single run.",
        {"confidence": 100 * confidence},
    )
