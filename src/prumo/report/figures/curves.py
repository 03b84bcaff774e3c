"""Figures of curves: the levels of one factor as lines, a small panel per other combination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.report.figures.figure import INK, PALETTE, plain
from prumo.report.figures.panels import in_two_lines
from prumo.report.label import levels_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
