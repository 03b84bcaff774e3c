"""Curves over time: the loss of trainings, and the usage of machines."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from statistics import median
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import (
    INK,
    LOGARITHMIC_RATIO,
    PALETTE,
    draw,
    levels_in,
    mark_levels,
    plain,
    round_numbers,
)
from prumo.report.label import SEPARATOR, levels_label, row_label
from prumo.statistics.training import SMOOTHED_SHARE, resources_of, usage_by_scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.statistics.training import Losses

MOST_PANELS = 48
COLUMNS, MOST_COLUMNS = 4, 5
# From here on four columns would make a figure higher than a printed page.
MANY_PANELS = 32
FULL_PIXELS = 880
WIDEST_PIXELS = 560
HIGHEST_PIXELS = 240
LOWEST_PIXELS = 70
# Room for the axis and its labels between two panels.
GAP_PIXELS = 44

# Dashes tell curves apart where colours cannot: in print, and for readers who see few of them.
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3], [10, 3]]
# Viridis without its palest end, which fades on white.
SEQUENCE = {"name": "viridis", "extent": [0.0, 0.88]}
MOST_ORDERED_CURVES = 12
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

# Ours: where most curves have fewer points, a reader would take chance for a course.
FEWEST_SPANS = 4
READING = Message(
    "Share of the whole machine in use over the time of a run, set-up included: mean of the "
    "finished runs of each scenario, in seconds of their mean time, and the band between the least "
    "and the most of them. Each panel has its own time axis."
)
BAND_OPACITY = 0.2


def loss_figures(
    losses: Losses, runs: pl.DataFrame, factors: Sequence[str], language: Language
) -> list[Figure]:
    """The loss over epochs, or over the steps of a few; none where too little was reported."""
    means = _means(losses, runs)
    if max(means.group_by("scenario").len()["len"], default=0) < FEWEST_POINTS:
        return []
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
    sentences = [
        BY_EPOCH if losses.unit == "epoch" else BY_STEP,
        SMOOTHED if losses.unit == "step" and longest * SMOOTHED_SHARE > 1 else None,
        THINNED if longest > POINTS else None,
        LOGARITHMIC_X if log_x else None,
        LOGARITHMIC_Y if log_y else None,
        None if positive else BELOW_ZERO,
    ]
    heading = Message("Loss during training")
    return [draw(panels(chart, curves.panel_order), "loss", heading, sentences, language)]


def _axis(values: Sequence[float], *, logarithmic: bool, **options: Any) -> dict[str, Any]:
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


def usage_figures(
    over_time: pl.DataFrame, runs: pl.DataFrame, factors: Sequence[str], language: Language
) -> list[Figure]:
    """CPU, memory and GPUs of every scenario; none where nothing was sampled for long enough."""
    scenarios = runs.select("scenario", *factors).unique("scenario", maintain_order=True)
    labels = {
        row["scenario"]: in_two_lines(row_label(row, factors)) for row in scenarios.rows(named=True)
    }
    shown = dict(list(labels.items())[:MOST_PANELS])
    resources = {
        language.say(resource.value): columns
        for resource, columns in resources_of(over_time.columns).items()
    }
    seen = runs.filter(pl.col("scenario").is_in(list(shown)))
    means = usage_by_scenario(over_time, seen, resources)
    spans = means.group_by("scenario", "resource").len()["len"].to_list()
    if not spans or median(spans) < FEWEST_SPANS:
        return []
    table = means.with_columns(
        panel=pl.col("scenario").replace_strict(shown, return_dtype=pl.String)
    )
    chart = panels(_chart(table, list(resources)), list(shown.values()), own_x=True)
    left = len(labels) - len(shown)
    remark = Message("{left} further scenarios are not shown.", {"left": left}) if left else None
    return [
        draw(chart, "usage", Message("Use of the machine over time"), [READING, remark], language)
    ]


def _chart(table: pl.DataFrame, names: list[str]) -> Any:
    # The legend is the bands' too, whose paleness it shall not take over.
    legend = plain(title=None, symbolType="stroke", symbolSize=400, symbolOpacity=1)
    percent = {"title": "%", "scale": plain(domain=[0, 100])}
    base = alt.Chart().encode(
        x=alt.X("seconds:Q", title=None, axis=ticks(), scale=plain(nice=False)),
        color=mark_levels(alt.Color, "resource:N", names, PALETTE, **legend),
    )
    # A single run has no band.
    bands = base.transform_filter("datum.runs > 1").mark_area(opacity=BAND_OPACITY)
    return alt.layer(
        bands.encode(y=alt.Y("low:Q", **percent, axis=ticks(values=[0, 50, 100])), y2="high:Q"),
        base.mark_line(strokeWidth=1.5).encode(
            y=alt.Y("mean:Q", **percent),
            strokeDash=mark_levels(alt.StrokeDash, "resource:N", names, DASHES, **legend),
        ),
        data=table,
    )


def panels(chart: Any, order: Sequence[str], *, own_x: bool = False) -> Any:
    """A chart once for each value of its column `panel`, in this order."""
    columns = min(COLUMNS if len(order) <= MANY_PANELS else MOST_COLUMNS, len(order))
    width = min(WIDEST_PIXELS, FULL_PIXELS // columns - GAP_PIXELS)
    height = min(HIGHEST_PIXELS, max(LOWEST_PIXELS, width // 2))
    header = plain(
        # A long name takes a second line instead of losing its end.
        labelExpr="split(datum.label, '\\n')",
        labelLimit=width + GAP_PIXELS // 2,
        labelAnchor="start",
        labelColor=INK,
        labelFontSize=11,
        labelPadding=4,
    )
    faceted = chart.properties(width=width, height=height).facet(
        alt.Facet("panel:N", sort=list(order), title=None, header=header),
        columns=columns,
        spacing={"row": 12, "column": 16},
    )
    return faceted.resolve_scale(x="independent") if own_x else faceted


def in_two_lines(label: str, most_letters: int = 28) -> str:
    """A long label broken between two levels near its middle."""
    parts = label.split(SEPARATOR)
    if len(label) <= most_letters or len(parts) == 1:
        return label
    breaks = [SEPARATOR.join(parts[:place]) for place in range(1, len(parts))]
    first = min(breaks, key=lambda text: abs(len(text) - len(label) / 2))
    return f"{first}\n{label.removeprefix(first + SEPARATOR)}"


def ticks(**options: Any) -> Any:
    """An axis with few and small labels."""
    return plain(
        tickCount=3,
        labelOverlap=True,
        labelSeparation=4,
        labelFontSize=10,
        titleFontSize=10,
        titleFontWeight="normal",
        **options,
    )


@dataclass(frozen=True)
class Curves:
    """Which panel and which curve every scenario belongs to."""

    factor: str
    """The factor whose levels are curves; empty where every panel holds one."""
    levels: list[str]
    ordered: bool
    """Whether the levels are numbers, so that colours go from dark to bright."""
    curves: Mapping[str, str]
    panels: Mapping[str, str]

    @property
    def panel_order(self) -> list[str]:
        """The panels in the order of their first scenarios."""
        return list(dict.fromkeys(self.panels.values()))

    def of(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table by scenario with the columns `curve` and `panel` added."""
        return table.with_columns(
            curve=pl.col("scenario").replace_strict(self.curves, return_dtype=pl.String),
            panel=pl.col("scenario").replace_strict(self.panels, return_dtype=pl.String),
        )

    @property
    def marks(self) -> dict[str, Any]:
        """Colour and dash of a curve, with one legend for both."""
        if not self.factor:
            return {"color": alt.value(PALETTE[0])}
        levels = self.levels
        legend = plain(
            title=self.factor,
            titleColor=INK,
            symbolType="stroke",
            symbolSize=400,
            symbolStrokeWidth=2,
            columns=10,
        )
        if self.ordered and len(levels) > len(DASHES) // 2:
            scale = plain(domain=levels, scheme=SEQUENCE)
            legend["orient"] = "top"
            return {"color": alt.Color("curve:O", sort=levels, scale=scale, legend=legend)}
        return {
            "color": mark_levels(alt.Color, "curve:N", levels, PALETTE, **legend),
            "strokeDash": mark_levels(alt.StrokeDash, "curve:N", levels, DASHES, **legend),
        }


def curves_of(scenarios: pl.DataFrame, factors: Sequence[str], preferred: str = "") -> Curves:
    """The preferred factor as curves, or else the last with few levels; the others as panels."""
    table = scenarios.select("scenario", *factors).unique("scenario", maintain_order=True)
    order = [preferred, *reversed(factors)] if preferred in factors else list(reversed(factors))
    factor = next((name for name in order if _fits(table[name])), "")
    others = [name for name in factors if name != factor]
    rows = table.rows(named=True)
    curves = {row["scenario"]: levels_label(row, [factor]) if factor else "" for row in rows}
    ordered = bool(factor) and table.schema[factor].is_numeric()
    return Curves(
        factor,
        levels_in(table.sort(factor) if ordered else table, factor) if factor else [],
        ordered,
        curves,
        {row["scenario"]: in_two_lines(levels_label(row, others)) for row in rows},
    )


def _fits(levels: pl.Series) -> bool:
    most = MOST_ORDERED_CURVES if levels.dtype.is_numeric() else len(PALETTE)
    return levels.n_unique() <= most
