"""What the time of a step goes to by kind of operation, and how busy each device was."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import (
    FAINT,
    INK,
    PALETTE,
    draw,
    draw_rows,
    label_axis,
    layout,
    mark_levels,
    plain,
    row_columns,
)
from prumo.report.label import row_label
from prumo.statistics.training import OperationKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prumo.report.figures.figure import Figure, Rows
    from prumo.report.language import Language
    from prumo.statistics.training import ScenarioProfile

ROW_PIXELS = 22
PLOT_PIXELS = 600
LABEL_PIXELS = 330
OPERATION_COLORS = {
    OperationKind.CONVOLUTION: PALETTE[0],
    OperationKind.MATRIX_PRODUCT: PALETTE[1],
    OperationKind.OTHER: FAINT,
}

PROFILES_CAPTION = Message(
    "By the framework's own profiler, in steps after the timed ones: own time of each operation, "
    "summed over threads. Profiling slows a step down; compare shares, not times."
)

PANEL_PIXELS = 315
BAR_PIXELS = 10
GAP_PIXELS = 6
# A blue and an orange that differ in brightness too, so that they do in black and white.
DEVICE_COLORS = {"CPU": PALETTE[0], "GPU": PALETTE[3]}
HOST = {"processor": "cpu_percent_mean", "memory": "memory_percent_mean"}
GPU = {
    "processor": re.compile(r"gpu\d+_percent_mean"),
    "memory": re.compile(r"gpu\d+_memory_percent_mean"),
}
TITLES = {
    "processor": Message("Mean use of processors [%]"),
    "memory": Message("Mean use of memory [%]"),
}
UTILISATION_CAPTION = Message(
    "Share of the whole machine in use: mean over the time of a run, set-up included, and over the "
    "runs of a scenario; of several GPUs, their mean."
)


def profiles_figures(
    profiles: Sequence[ScenarioProfile],
    runs: pl.DataFrame,
    factors: Sequence[str],
    language: Language,
) -> list[Figure]:
    """Convolutions and matrix products at a glance."""
    if not profiles:
        return []
    rows = runs.select("scenario", *factors).unique("scenario").rows(named=True)
    labels = {row["scenario"]: row_label(row, factors) for row in rows}
    table = pl.DataFrame(
        [
            {
                "label": labels[profile.scenario],
                "kind": language.say(kind.value),
                "place": place,
                "percent": 100 * share,
            }
            for profile in profiles
            for place, (kind, share) in enumerate(profile.shares.items())
        ]
    )
    kinds = [language.say(kind.value) for kind in OperationKind]
    chart = (
        alt.Chart(table)
        .mark_bar()
        .encode(
            x=alt.X(
                "percent:Q",
                title=language.say("Share of all operations' own time [%]"),
                scale=plain(domain=[0, 100]),
            ),
            y=label_axis(
                sort=[labels[profile.scenario] for profile in profiles], labelLimit=LABEL_PIXELS
            ),
            color=mark_levels(
                alt.Color, "kind:N", kinds, list(OPERATION_COLORS.values()), title=None
            ),
            order="place:Q",
        )
        .properties(width=PLOT_PIXELS, height=alt.Step(ROW_PIXELS))
    )
    heading = Message("Where the time of a step goes")
    return [draw(chart, "profiles", heading, [PROFILES_CAPTION], language)]


def utilisation_figures(
    summary: pl.DataFrame, factors: Sequence[str], language: Language
) -> list[Figure]:
    """Bars of CPU and GPU, of memory and GPU memory; none where nothing was sampled."""
    tables = {kind: table for kind in TITLES if (table := _means(summary, kind)).height}
    if not tables:
        return []
    sampled = pl.concat([table.select("scenario") for table in tables.values()]).unique()
    rows = layout(summary.join(sampled, on="scenario", how="semi"), factors)
    # One legend for all panels, of what some of them has.
    colors = {name: DEVICE_COLORS[name] for name in _devices(tables.values())}

    def plot(panel: Rows) -> Any:
        inside = {kind: row_columns(table, panel) for kind, table in tables.items()}
        devices = _devices(inside.values())
        plots = [
            _panel(part, label_axis(shown=place == 0), devices, colors, language.say(TITLES[kind]))
            for place, (kind, part) in enumerate(inside.items())
        ]
        return alt.hconcat(*plots, spacing=14).resolve_scale(yOffset="independent")

    heading = Message("Use of the machine")
    return draw_rows(plot, rows, "utilisation", heading, [UTILISATION_CAPTION], language)


def _devices(tables: Iterable[pl.DataFrame]) -> list[str]:
    found = {device for table in tables for device in table["device"]}
    return [name for name in DEVICE_COLORS if name in found]


def _means(summary: pl.DataFrame, kind: str) -> pl.DataFrame:
    metric = pl.col("metric")
    gpus = [name for name in summary["metric"].unique() if GPU[kind].fullmatch(name)]
    device = pl.when(metric == HOST[kind]).then(pl.lit("CPU")).otherwise(pl.lit("GPU"))
    return (
        summary.filter((metric == HOST[kind]) | metric.is_in(gpus))
        .group_by("scenario", device.alias("device"), maintain_order=True)
        .agg(pl.col("mean").mean().alias("value"))
    )


def _panel(
    table: pl.DataFrame, y: Any, devices: Sequence[str], colors: Mapping[str, str], title: str
) -> Any:
    base = alt.Chart(table).encode(
        y=y,
        yOffset=alt.YOffset("device:N", sort=list(devices)),
        x=alt.X(
            "value:Q",
            title=title,
            scale=plain(domain=[0, 112], nice=False),
            axis=plain(values=[0, 25, 50, 75, 100]),
        ),
    )
    color = mark_levels(alt.Color, "device:N", list(colors), list(colors.values()), title=None)
    number = alt.Text("value:Q", format=".0f")
    # A step per row and not per bar: a row may have one bar.
    height = alt.Step(BAR_PIXELS * len(devices) + GAP_PIXELS, **{"for": "position"})
    return alt.layer(
        base.mark_bar().encode(color=color),
        base.mark_text(align="left", dx=4, fontSize=9, color=INK).encode(text=number),
    ).properties(width=PANEL_PIXELS, height=height)
