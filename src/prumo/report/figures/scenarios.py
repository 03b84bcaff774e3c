"""Every run and every mean of one metric, a row per scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from prumo.analyse.metric import metric_of
from prumo.report.figures.figure import INK, PALETTE, Extent, draw, value_axis
from prumo.report.label import row_label
from prumo.report.number import scale_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.figures.figure import Figure

ROW_PIXELS = 26
# Runs lie below the mean of their row, so that neither hides the other.
BELOW, ABOVE = 5, -3
PLOT_PIXELS = 600
LABEL_PIXELS = 330
ROWS_WITH_AXIS_BELOW = 16


def scenarios_figure(
    runs: pl.DataFrame,
    summary: pl.DataFrame,
    factors: Sequence[str],
    metric: str,
    confidence: float,
) -> Figure:
    """Dots for runs, a diamond and a bar for the mean and its interval."""
    known = metric_of(metric)
    scale = scale_of(max(summary["median"].to_list()), known.unit)
    means = _labels(summary, factors).with_columns(
        summary[name] / scale.factor for name in ("mean", "ci_low", "ci_high")
    )
    measured = runs.filter(runs[metric].is_not_null())
    dots = _labels(measured, factors).with_columns(value=measured[metric] / scale.factor)
    ends = pl.concat([means["ci_low"], means["ci_high"]]).drop_nulls()
    extent = Extent.of([*dots["value"], *means["mean"]], ends.to_list())
    title = f"{known.title} [{scale.unit}]" if scale.unit else known.title
    orient = "bottom" if means.height <= ROWS_WITH_AXIS_BELOW else "top"
    x = alt.X("value:Q", **value_axis(title, extent, orient=orient))
    y = alt.Y(
        "label:N",
        sort=means["label"].to_list(),
        title=None,
        axis=alt.Axis(labelLimit=LABEL_PIXELS, ticks=False, domain=False, labelPadding=8),
    )
    base = alt.Chart(means).encode(y=y, color=_color(means, factors))
    chart = alt.layer(
        alt.Chart(dots)
        .mark_circle(size=30, opacity=0.5, yOffset=BELOW)
        .encode(x=x, y=y, color=_color(means, factors)),
        base.mark_rule(strokeWidth=2.5, yOffset=ABOVE).encode(x="ci_low:Q", x2="ci_high:Q"),
        base.mark_point(shape="diamond", filled=True, opacity=1, size=110, yOffset=ABOVE).encode(
            x="mean:Q"
        ),
    ).properties(width=PLOT_PIXELS, height=alt.Step(ROW_PIXELS))
    return draw(
        chart,
        "scenarios",
        f"{known.title} of every scenario",
        f"Dots: single runs. Diamond and bar: mean and {100 * confidence:g} % confidence interval; "
        f"a diamond without a bar is a single run.{extent.remark}",
    )


def _labels(table: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    """Columns of the figure only: a user's own may be called `label` too."""
    rows = table.select("scenario", *factors).rows(named=True)
    labels = [row_label(row, factors) for row in rows]
    groups = [str(row[factors[0]]) if factors else "" for row in rows]
    return pl.DataFrame({"label": labels, "group": groups})


def _color(means: pl.DataFrame, factors: Sequence[str]) -> object:
    groups = means["group"].unique(maintain_order=True).to_list()
    if not factors or len(groups) > len(PALETTE) or len(groups) == means.height:
        return alt.value(PALETTE[0])
    return alt.Color(
        "group:N",
        sort=groups,
        scale=alt.Scale(domain=groups, range=PALETTE[: len(groups)]),
        legend=alt.Legend(title=factors[0], orient="top", titleColor=INK, symbolOpacity=1),
    )
