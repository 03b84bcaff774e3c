"""Figures with a row per scenario: how rows are named, grouped and coloured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from prumo.report.figures.figure import INK, PALETTE, draw, plain
from prumo.report.label import levels_label, row_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.message import Message
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

LABEL_PIXELS = 300
LABEL_FONT_PIXELS = 11
GROUPS_FROM_ROWS = 8
# More panels than that and a reader looks for the row instead of comparing rows.
MOST_GROUPS = 4
# As many as can be read on a printed page.
MOST_ROWS = 48
PANEL_GAP_PIXELS = 22


@dataclass(frozen=True)
class Rows:
    """The rows of one panel, in the order of the scenarios."""

    title: str
    """What the rows of this panel have in common; empty where there is one panel."""
    labels: Mapping[str, str]
    """The label beside a row, by scenario."""
    colors: Mapping[str, str]
    """The level that gives a row its colour, by scenario."""


@dataclass(frozen=True)
class Layout:
    """The panels of a figure and the factor that its colours tell apart."""

    panels: tuple[Rows, ...]
    color_factor: str
    color_levels: tuple[str, ...]

    @property
    def color(self) -> Any:  # noqa: ANN401 (Altair)
        """The colour of a mark with a column `color`; the legend says what it stands for."""
        if not self.color_factor:
            return alt.value(PALETTE[0])
        levels = list(self.color_levels)
        return alt.Color(
            "color:N",
            sort=levels,
            scale=plain(domain=levels, range=PALETTE[: len(levels)]),
            legend=plain(title=self.color_factor, orient="top", titleColor=INK, symbolOpacity=1),
        )


def layout(scenarios: pl.DataFrame, factors: Sequence[str]) -> Layout:
    """A panel per level of the first factor where there are many rows, colours by the next one."""
    table = scenarios.select("scenario", *factors).unique("scenario", maintain_order=True)
    first = factors[0] if factors and _parts(table, factors[0]) else ""
    inner = [factor for factor in factors if factor != first]
    color = next((factor for factor in inner[:1] if _can_color(table, factor)), "")
    parts = table.partition_by(first, maintain_order=True) if first else [table]
    pieces = [piece for part in parts for piece in part.iter_slices(MOST_ROWS)]
    return Layout(
        tuple(_rows(piece, first, inner, color) for piece in pieces),
        color,
        tuple(_levels(table, color)) if color else (),
    )


def draw_rows(  # noqa: PLR0913 (what a figure shows, and how it is told)
    plots: Sequence[Any],
    rows: Layout,
    name: str,
    title: Message,
    reading: str,
    language: Language,
) -> list[Figure]:
    """The plots of the panels one below the other, in as many figures as fit on printed pages."""
    return [
        draw(
            alt.vconcat(
                *(plots[place] for place in places), spacing=PANEL_GAP_PIXELS
            ).resolve_scale(yOffset="independent"),
            name if number == 1 else f"{name}-{number}",
            language.say(title),
            reading,
            language,
        )
        for number, places in enumerate(_pages(rows.panels), start=1)
    ]


def label_axis(*, shown: bool = True) -> Any:  # noqa: ANN401 (Altair)
    """Rows from top to bottom as the table has them; a panel beside another repeats no labels."""
    axis = plain(
        labelLimit=LABEL_PIXELS,
        labelFontSize=LABEL_FONT_PIXELS,
        labelPadding=8,
        ticks=False,
        domain=False,
    )
    return alt.Y("label:N", sort=None, title=None, axis=axis if shown else None)


def row_columns(table: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    """The part of a table that is in a panel, with the columns `label` and `color` added."""
    inside = table.filter(pl.col("scenario").is_in(list(rows.labels)))
    return inside.with_columns(
        label=pl.col("scenario").replace_strict(rows.labels, return_dtype=pl.String),
        color=pl.col("scenario").replace_strict(rows.colors, return_dtype=pl.String),
    )


def panel_title(rows: Rows) -> Any:  # noqa: ANN401 (Altair)
    """The title above a panel, over its labels too."""
    return alt.Title(rows.title, anchor="start", frame="bounds", fontSize=13, color=INK, offset=4)


def _pages(panels: Sequence[Rows]) -> list[list[int]]:
    """The numbers of the panels on each page: as many as fit, and at least one."""
    pages: list[list[int]] = []
    taken = MOST_ROWS
    for place, panel in enumerate(panels):
        if taken + len(panel.labels) > MOST_ROWS:
            pages.append([])
            taken = 0
        pages[-1].append(place)
        taken += len(panel.labels)
    return pages


def _rows(part: pl.DataFrame, first: str, inner: Sequence[str], color: str) -> Rows:
    found = part.rows(named=True)
    return Rows(
        title=f"{first}: {levels_label(found[0], [first])}" if first else "",
        labels={row["scenario"]: row_label(row, inner) for row in found},
        colors={row["scenario"]: levels_label(row, [color]) if color else "" for row in found},
    )


def _parts(table: pl.DataFrame, factor: str) -> bool:
    return table.height > GROUPS_FROM_ROWS and table[factor].n_unique() <= MOST_GROUPS


def _can_color(table: pl.DataFrame, factor: str) -> bool:
    return table[factor].n_unique() <= len(PALETTE) and table[factor].n_unique() < table.height


def _levels(table: pl.DataFrame, factor: str) -> list[str]:
    rows = table.select(factor).unique(maintain_order=True).rows(named=True)
    return [levels_label(row, [factor]) for row in rows]
