"""Figures of curves: the levels of one factor as lines, a small panel per other combination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.report.figures.figure import INK, PALETTE, plain
from prumo.report.label import SEPARATOR, levels_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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


def panels(chart: Any, order: Sequence[str], *, own_x: bool = False) -> Any:  # noqa: ANN401 (Altair)
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


def ticks(**options: Any) -> Any:  # noqa: ANN401 (Altair)
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


# Dashes tell curves apart where colours cannot: in print, and for readers who see few of them.
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3], [10, 3]]
# Viridis without its palest end, which fades on white.
SEQUENCE = {"name": "viridis", "extent": [0.0, 0.88]}
MOST_ORDERED_CURVES = 12


@dataclass(frozen=True)
class Curves:
    """Which panel and which curve every scenario belongs to."""

    factor: str
    """The factor whose levels are curves; empty where every panel holds one."""
    levels: tuple[str, ...]
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
        levels = list(self.levels)
        legend = plain(
            title=self.factor,
            orient="top",
            titleColor=INK,
            symbolType="stroke",
            symbolSize=400,
            symbolStrokeWidth=2,
            columns=10,
        )
        if self.ordered and len(levels) > len(DASHES) // 2:
            scale = plain(domain=levels, scheme=plain(**SEQUENCE))
            return {"color": alt.Color("curve:O", sort=levels, scale=scale, legend=legend)}
        scale = plain(domain=levels, range=PALETTE[: len(levels)])
        dashes = plain(domain=levels, range=DASHES[: len(levels)])
        return {
            "color": alt.Color("curve:N", sort=levels, scale=scale, legend=legend),
            "strokeDash": alt.StrokeDash("curve:N", sort=levels, scale=dashes, legend=legend),
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
        tuple(_in_order(table, factor, ordered=ordered)),
        ordered,
        curves,
        {row["scenario"]: in_two_lines(levels_label(row, others)) for row in rows},
    )


def _fits(levels: pl.Series) -> bool:
    most = MOST_ORDERED_CURVES if levels.dtype.is_numeric() else len(PALETTE)
    return levels.n_unique() <= most


def _in_order(table: pl.DataFrame, factor: str, *, ordered: bool) -> list[str]:
    if not factor:
        return []
    levels = table.select(factor).unique(maintain_order=True)
    rows = (levels.sort(factor) if ordered else levels).rows(named=True)
    return [levels_label(row, [factor]) for row in rows]
