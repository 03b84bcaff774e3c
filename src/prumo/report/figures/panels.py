"""Small panels, one per scenario: use of the machine over time, loss over training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.report.figures.figure import INK, PALETTE, draw
from prumo.report.label import row_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.figures.figure import Figure
    from prumo.results.tables import Results

PANELS_PER_ROW = 4
PANEL_PIXELS = (172, 84)
MOST_PANELS = 48
POINTS = 60
FEWEST_POINTS = 3


def usage_figure(results: Results, factors: Sequence[str]) -> Figure | None:
    """CPU, memory and GPU of the first finished run of each scenario; None without samples."""
    shown, remark = _shown_runs(results, factors)
    samples = results.samples(shown["run"].to_list())
    series = _usage_series(samples.collect_schema().names())
    if not series:
        return None
    place = (
        (pl.col("seconds") / pl.col("seconds").max().over("run") * POINTS).floor().alias("place")
    )
    table = (
        samples.select("run", "seconds", **series)
        .group_by("run", place.fill_nan(0))
        .agg(pl.col("seconds", *series).mean())
        .sort("run", "seconds")
        .collect(engine="streaming")
    )
    if _most_points(table) < FEWEST_POINTS:
        return None
    long = table.unpivot(on=list(series), index=["run", "seconds"], variable_name="resource")
    chart = _panels(
        long.drop_nulls().join(shown, on="run", how="inner"),
        shown,
        x=alt.X("seconds:Q", title=None, axis=_ticks()),
        y=alt.Y(
            "value:Q",
            title="%",
            scale=alt.Scale(domain=[0, 100]),
            axis=_ticks(values=[0, 50, 100]),
        ),
        color=alt.Color(
            "resource:N",
            sort=list(series),
            scale=alt.Scale(domain=list(series), range=PALETTE[: len(series)]),
            legend=alt.Legend(title=None, orient="top", symbolType="stroke"),
        ),
    ).resolve_scale(x="independent")
    return draw(
        chart,
        "usage",
        "Use of the machine over time",
        "Share of the whole machine in use over the seconds of the first finished run of each "
        f"scenario, set-up included. Each panel has its own time axis.{remark}",
    )


def loss_figure(results: Results, factors: Sequence[str]) -> Figure | None:
    """The loss over epochs, or over steps of a single epoch; None where nothing was reported."""
    shown, remark = _shown_runs(results, factors)
    runs = shown["run"].to_list()
    table = results.epochs(runs).select("run", place="epoch", value="loss").drop_nulls().collect()
    unit = "epoch"
    if _most_points(table) < FEWEST_POINTS:
        table, unit = _step_losses(results, runs), "step"
    if _most_points(table) < FEWEST_POINTS:
        return None
    chart = _panels(
        table.join(shown, on="run", how="inner"),
        shown,
        x=alt.X("place:Q", title=None, axis=_ticks(tickMinStep=1, format="d")),
        y=alt.Y("value:Q", title="loss", scale=alt.Scale(zero=False), axis=_ticks()),
        color=alt.value(PALETTE[0]),
    )
    return draw(
        chart,
        "loss",
        "Loss during training",
        f"Loss per {unit} in the first finished run of each scenario.{remark}",
    )


def _shown_runs(results: Results, factors: Sequence[str]) -> tuple[pl.DataFrame, str]:
    finished = results.runs().filter(pl.col("verdict") == "finished")
    first = finished.unique("scenario", keep="first", maintain_order=True)
    shown = first.head(MOST_PANELS)
    labels = [
        row_label(row, factors) for row in shown.select("scenario", *factors).rows(named=True)
    ]
    left = first.height - shown.height
    remark = f" {left} further scenarios are not shown." if left else ""
    return shown.select("run", panel=pl.Series(labels, dtype=pl.String)), remark


def _usage_series(columns: Sequence[str]) -> dict[str, pl.Expr]:
    series = {}
    if "cpu_percent" in columns:
        series["CPU"] = pl.col("cpu_percent")
    if "memory_percent" in columns:
        series["memory"] = pl.col("memory_percent")
    gpus = [
        name
        for name in columns
        if name.startswith("gpu") and name[3:].removesuffix("_percent").isdecimal()
    ]
    if gpus:
        series["GPU"] = pl.mean_horizontal(gpus)
    return series


def _step_losses(results: Results, runs: list[str]) -> pl.DataFrame:
    counted = results.steps(runs).filter(pl.col("epoch") > 0).select("run", value="loss").collect()
    numbered = counted.with_columns(place=pl.int_range(1, pl.len() + 1).over("run")).drop_nulls()
    width = (pl.len().over("run") / POINTS).ceil()
    return (
        numbered.group_by("run", (pl.col("place") / width).ceil().alias("bin"))
        .agg(pl.col("place", "value").mean())
        .sort("run", "place")
    )


def _most_points(table: pl.DataFrame) -> int:
    return max(table.group_by("run").len()["len"].to_list(), default=0)


def _panels(table: pl.DataFrame, shown: pl.DataFrame, **encoding: Any) -> Any:  # noqa: ANN401 (Altair)
    width, height = PANEL_PIXELS
    return (
        alt.Chart(table)
        .mark_line(strokeWidth=1.5)
        .encode(**encoding)
        .properties(width=width, height=height)
        .facet(
            alt.Facet(
                "panel:N",
                sort=shown["panel"].to_list(),
                title=None,
                header=alt.Header(
                    labelLimit=width + 10, labelAnchor="start", labelColor=INK, labelFontSize=11
                ),
            ),
            columns=min(PANELS_PER_ROW, shown.height),
            spacing={"row": 14, "column": 18},
        )
    )


def _ticks(**options: Any) -> Any:  # noqa: ANN401 (Altair)
    return alt.Axis(
        tickCount=4, labelFontSize=10, titleFontSize=10, titleFontWeight="normal", **options
    )
