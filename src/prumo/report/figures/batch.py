"""Time per image and acceleration against the batch size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.curves import DASHES
from prumo.report.figures.figure import (
    PALETTE,
    SHAPES,
    Extent,
    axis_title,
    draw,
    mark_levels,
    panel_title,
    plain,
    value_axis,
)
from prumo.report.label import levels_label
from prumo.statistics.interval import mean_interval, ratio_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

BATCH = "batch_size"
THROUGHPUT = "images_per_second"
FEWEST_BATCHES = 3
CPU = "cpu"
PLOT_PIXELS = (350, 230)
LOGARITHMIC = Message("The axis of time is logarithmic.")
# With an acceleration beside the time, or without.
READINGS = {
    True: "Left: mean time per image with its {confidence:g} % confidence interval. Right: how "
    "many times as fast as the CPU, with the same kind of interval. Batch sizes double from line "
    "to line; those without a finished run are missing.",
    False: "Mean time per image with its {confidence:g} % confidence interval. Batch sizes double "
    "from line to line; those without a finished run are missing.",
}


@dataclass(frozen=True)
class Parts:
    """The factors that the curves of a study are told apart by, besides the batch size."""

    color: str
    """Told by colour, such as the framework; empty where there is none."""
    device: str
    """Told by dashes: it has a level `cpu` to compare with; empty where there is none."""
    panels: tuple[str, ...]


def batch_figures(
    runs: pl.DataFrame, factors: Sequence[str], confidence: float, language: Language
) -> list[Figure]:
    """Curves over batch sizes; none where fewer than three were measured."""
    if BATCH not in factors or THROUGHPUT not in runs.columns:
        return []
    measured = runs.filter(pl.col(THROUGHPUT) > 0)
    if not measured.schema[BATCH].is_numeric() or measured[BATCH].n_unique() < FEWEST_BATCHES:
        return []
    parts = _parts(measured, factors)
    seconds = _times(measured, parts, confidence)
    scale = language.scale(seconds.select(pl.col("value").median()).item(), "s")
    times = seconds.with_columns(pl.col("value", "low", "high") / scale.factor)
    ratios = _accelerations(seconds, confidence)
    extent = _extent(times)
    title = axis_title(Message("Time per image"), scale.unit, language)
    tables = [(times, alt.Y("value:Q", **value_axis(title, extent)))]
    if ratios.height:
        # From zero, so that what is hardly faster looks so.
        against = language.say(Message("Acceleration against the CPU"))
        tables.append((ratios, alt.Y("value:Q", **value_axis(against, _extent(ratios, 0.0)))))
    groups = [_group(panel, tables, parts) for panel in times["panel"].unique(maintain_order=True)]
    heading = Message(
        "Time per image and acceleration by batch size"
        if ratios.height
        else "Time per image by batch size"
    )
    reading = Message(READINGS[ratios.height > 0], {"confidence": 100 * confidence})
    sentences = [reading, LOGARITHMIC if extent.logarithmic else None]
    return [draw(alt.vconcat(*groups, spacing=22), "batch", heading, sentences, language)]


def _parts(runs: pl.DataFrame, factors: Sequence[str]) -> Parts:
    others = [factor for factor in factors if factor != BATCH]
    device = next((factor for factor in others if CPU in runs[factor].cast(pl.String)), "")
    rest = [factor for factor in others if factor != device]
    color = next((factor for factor in rest if runs[factor].n_unique() <= len(PALETTE)), "")
    return Parts(color, device, tuple(factor for factor in rest if factor != color))


def _times(runs: pl.DataFrame, parts: Parts, confidence: float) -> pl.DataFrame:
    """Columns of the figure only: a user's factor may be called `value` too."""
    rows = []
    for _, group in runs.group_by("scenario", maintain_order=True):
        levels = group.row(0, named=True)
        times = (1 / group[THROUGHPUT]).to_list()
        interval = mean_interval(times, confidence, is_amount=True)
        rows.append(
            {
                "batch": levels[BATCH],
                "color": levels_label(levels, [parts.color] if parts.color else []),
                "device": levels_label(levels, [parts.device] if parts.device else []),
                "panel": levels_label(levels, parts.panels),
                "value": interval.mean,
                "low": interval.low,
                "high": interval.high,
                "runs": times,
            }
        )
    return pl.DataFrame(rows, schema_overrides={"low": pl.Float64, "high": pl.Float64})


def _accelerations(times: pl.DataFrame, confidence: float) -> pl.DataFrame:
    """How many times as fast as the CPU every other device is, where both were measured."""
    same = ["batch", "color", "panel"]
    cpu = times.filter(pl.col("device") == CPU).select(*same, cpu="runs")
    pairs = times.filter(pl.col("device") != CPU).join(cpu, on=same, maintain_order="left")
    ratios = [ratio_of(row["cpu"], row["runs"], confidence) for row in pairs.iter_rows(named=True)]
    return pairs.with_columns(
        pl.Series(name, [getattr(ratio, name) for ratio in ratios], dtype=pl.Float64)
        for name in ("value", "low", "high")
    )


def _group(panel: str, tables: Sequence[tuple[pl.DataFrame, Any]], parts: Parts) -> Any:
    plots = [
        _plot(inside.drop("runs"), table, parts, y)
        for table, y in tables
        if (inside := table.filter(pl.col("panel") == panel)).height
    ]
    return alt.hconcat(*plots, spacing=30, title=panel_title(panel))


def _extent(table: pl.DataFrame, *ends: float) -> Extent:
    return Extent.of(table["value"].to_list(), [*table["low"], *table["high"], *ends])


def _plot(inside: pl.DataFrame, table: pl.DataFrame, parts: Parts, y: Any) -> Any:
    """The part of a table in one panel, on the axes of the whole table."""
    sizes = sorted(table["batch"].unique())
    width, height = PLOT_PIXELS
    base = alt.Chart(inside).encode(
        x=alt.X(
            "batch:Q",
            title=BATCH,
            scale=plain(type="log", base=2, domain=[sizes[0], sizes[-1]], nice=False, padding=10),
            axis=plain(values=sizes, format="d", labelOverlap=True),
        ),
        color=_by_color(alt.Color, table, parts, PALETTE),
    )
    return alt.layer(
        base.mark_rule(strokeWidth=1.5).encode(y="low:Q", y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y, strokeDash=_dashes(table, parts)),
        base.mark_point(filled=True, size=45, opacity=1).encode(
            y=y, shape=_by_color(alt.Shape, table, parts, SHAPES)
        ),
    ).properties(width=width, height=height)


def _by_color(channel: Any, table: pl.DataFrame, parts: Parts, marks: Sequence[str]) -> Any:
    """Tell the factor of the curves by a channel; by colour and shape, one legend for both."""
    if not parts.color:
        return alt.value(marks[0])
    levels = table["color"].unique(maintain_order=True).to_list()
    return mark_levels(channel, "color:N", levels, marks, title=parts.color)


def _dashes(table: pl.DataFrame, parts: Parts) -> Any:
    levels = table["device"].unique(maintain_order=True).to_list()
    if len(levels) == 1:
        return alt.value(DASHES[0])
    legend = plain(title=parts.device, symbolType="stroke", symbolSize=400)
    return mark_levels(alt.StrokeDash, "device:N", levels, DASHES, **legend)
