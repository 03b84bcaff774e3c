"""What all figures share: colours, axes, rows of scenarios, drawing as SVG."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl
import vl_convert

from prumo.message import Message
from prumo.report.figures.text_width import keep_widths
from prumo.report.label import levels_label, row_label
from prumo.statistics.metric import UNITS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prumo.report.language import Language


# Okabe and Ito (2008), told apart by colour-blind readers; their yellow is too pale on white.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000"]
# Shapes beside colours, for readers and printers that see few colours.
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]
INK = "#1f2933"
FAINT = "#d8dee4"
# Faces of the same widths; with others, text is drawn in the width of these.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
LOGARITHMIC_RATIO = 30.0
ZERO_RATIO = 0.5
# By d3-format: six digits that count at most, and no zeros behind them.
PLAIN_NUMBER = ",~r"

# As plain values: Altair's own methods copy a whole chart for each of them.
STYLE = {
    "aria": False,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "bold",
        "titlePadding": 8,
        "gridColor": FAINT,
        "domainColor": FAINT,
        "tickColor": FAINT,
    },
    "header": {"labelColor": INK, "labelFontSize": 12, "titleFontSize": 12},
    "legend": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12},
    "range": {"category": PALETTE},
}

LOCAL_NAME = re.compile(r'(id="|url\(#)((?:clip|gradient_)\d+)')


@dataclass(frozen=True)
class Figure:
    """A chart as SVG with what it shows and how to read it."""

    name: str
    title: str
    caption: str
    svg: str


def draw(
    chart: Any, name: str, title: Message, sentences: Sequence[Message | None], language: Language
) -> Figure:
    """Turn a chart into a figure whose numbers are written as in the language.

    The sentences that there are say below it how to read it.
    """
    # The limit is for notebooks that keep the data; here they become lines at once.
    with alt.data_transformers.disable_max_rows():
        specification = {**chart.to_dict(validate=False), "background": "white", "config": STYLE}
    numbers = {"decimal": language.marks.decimal, "thousands": language.marks.group}
    svg: str = vl_convert.vegalite_to_svg(
        specification, format_locale={**numbers, "grouping": [3], "currency": ["", ""]}
    )
    # Two charts in one page may not share the names of their clips.
    svg = LOCAL_NAME.sub(rf"\g<1>{name}-\g<2>", keep_widths(svg))
    told = language.say(title)
    svg = svg.replace("<svg ", f'<svg role="img" aria-labelledby="{name}-title" ', 1).replace(
        ">", f'><title id="{name}-title">{escape(told)}</title>', 1
    )
    return Figure(name, told, " ".join(map(language.say, filter(None, sentences))), svg)


def plain(**fields: Any) -> dict[str, Any]:
    """What Altair has a class for, without the many empty fields that it copies all the time."""
    return fields


def axis_title(title: Message | str, unit: str, language: Language) -> str:
    """What an axis shows, with its unit in brackets."""
    told = language.told(title) if isinstance(title, Message) else _spoken(title, unit)
    return f"{told} [{unit}]" if unit else told


def _spoken(name: str, unit: str) -> str:
    """A user's own metric without its underscores, and without a unit that stands behind it.

    >>> _spoken("full_latency_seconds", "ms")
    'full latency'
    """
    ending = next((text for text in UNITS if unit and name.endswith(text)), "")
    return name.removesuffix(ending).replace("_", " ").strip() or name


def mark_levels(
    channel: Any, field: str, levels: Sequence[str], marks: Sequence[Any], **legend: Any
) -> Any:
    """A colour, shape or dash for each level; channels with the same legend share it."""
    return channel(
        field,
        sort=levels,
        scale=plain(domain=levels, range=marks[: len(levels)]),
        legend=plain(orient="top", **legend),
    )


def scaled_means(summary: pl.DataFrame, factor: float) -> pl.DataFrame:
    """The means of scenarios as `value`, their intervals as `low` and `high`."""
    columns = {"value": "mean", "low": "ci_low", "high": "ci_high"}
    scaled = {name: pl.col(column) / factor for name, column in columns.items()}
    return summary.select("scenario", **scaled)


@dataclass(frozen=True)
class Extent:
    """From where to where the values of a figure go."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def of(cls, values: Sequence[float], ends: Sequence[float | None] = ()) -> Extent:
        """The extent of values and of the ends of their intervals, where these have any.

        Values decide on a logarithmic axis, so that one wide interval does not bend it.
        """
        everything = [*values, *(end for end in ends if end is not None)]
        low, high = min(everything), max(everything)
        return cls(low, high, low > 0 and max(values) / min(values) > LOGARITHMIC_RATIO)

    @property
    def starts_at_zero(self) -> bool:
        """Whether the axis does; where values differ little it would hide how they differ."""
        return 0 <= self.low < ZERO_RATIO * self.high

    @property
    def remark(self) -> Message | None:
        """What a reader must know of the axis, or nothing."""
        if self.logarithmic:
            return Message("The axis is logarithmic.")
        return None if self.starts_at_zero else Message("The axis does not start at zero.")


def value_axis(title: str, extent: Extent, **options: Any) -> dict[str, Any]:
    """An axis on which the smallest value is seen beside the largest."""
    if extent.logarithmic:
        low, high = extent.low / 1.1, extent.high * 1.1
        scale = plain(type="log", domain=[low, high], nice=False)
        options["values"] = round_numbers(low, high)
    else:
        margin = 0.05 * ((extent.high - extent.low) or abs(extent.high) or 1.0)
        bottom = 0.0 if extent.starts_at_zero else extent.low - margin
        scale = plain(domain=[bottom, extent.high + margin], zero=False, nice=True)
    return {
        "title": title,
        "scale": scale,
        "axis": plain(tickCount=7, format=PLAIN_NUMBER, **options),
    }


def round_numbers(low: float, high: float) -> list[float]:
    """The 1, 2 and 5 of every power of ten between two ends."""
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    numbers = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    return [number for number in numbers if low <= number <= high]


ROW_LABELS = {"labelLimit": 300, "labelFontSize": 11}
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
    color_levels: list[str]

    @property
    def color(self) -> Any:
        """The colour of a mark with a column `color`; the legend says what it stands for."""
        if not self.color_factor:
            return alt.value(PALETTE[0])
        legend = plain(title=self.color_factor, titleColor=INK, symbolOpacity=1)
        return mark_levels(alt.Color, "color:N", self.color_levels, PALETTE, **legend)


def layout(scenarios: pl.DataFrame, factors: Sequence[str]) -> Layout:
    """A panel per level of the first factor where there are many rows, colours by the next one."""
    table = scenarios.select("scenario", *factors).unique("scenario", maintain_order=True)
    counts = {factor: table[factor].n_unique() for factor in factors}
    is_long = bool(factors) and table.height > GROUPS_FROM_ROWS
    first = factors[0] if is_long and counts[factors[0]] <= MOST_GROUPS else ""
    inner = [factor for factor in factors if factor != first]
    can_color = inner and counts[inner[0]] <= len(PALETTE) and counts[inner[0]] < table.height
    color = inner[0] if can_color else ""
    parts = table.partition_by(first, maintain_order=True) if first else [table]
    pieces = [piece for part in parts for piece in part.iter_slices(MOST_ROWS)]
    return Layout(
        tuple(_rows(piece, first, inner, color) for piece in pieces),
        color,
        levels_in(table, color) if color else [],
    )


def draw_rows(  # noqa: PLR0913 (what a figure shows, and how it is told)
    plot: Callable[[Rows], Any],
    rows: Layout,
    name: str,
    title: Message,
    sentences: Sequence[Message | None],
    language: Language,
) -> list[Figure]:
    """The plots of the panels one below the other, in as many figures as fit on printed pages."""
    plots = [plot(panel).properties(title=panel_title(panel.title)) for panel in rows.panels]
    return [
        draw(
            alt.vconcat(
                *(plots[place] for place in places), spacing=PANEL_GAP_PIXELS
            ).resolve_scale(yOffset="independent"),
            name if number == 1 else f"{name}-{number}",
            title,
            sentences,
            language,
        )
        for number, places in enumerate(_pages(rows.panels), start=1)
    ]


def label_axis(
    field: str = "label:N", sort: Sequence[str] | None = None, *, shown: bool = True, **options: Any
) -> Any:
    """Rows from top to bottom as the table has them; a panel beside another repeats no labels."""
    axis = plain(ticks=False, domain=False, labelPadding=8, **(options or ROW_LABELS))
    return alt.Y(field, sort=sort, title=None, axis=axis if shown else None)


def row_columns(table: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    """The part of a table that is in a panel, with the columns `label` and `color` added."""
    inside = table.filter(pl.col("scenario").is_in(list(rows.labels)))
    return inside.with_columns(
        label=pl.col("scenario").replace_strict(rows.labels, return_dtype=pl.String),
        color=pl.col("scenario").replace_strict(rows.colors, return_dtype=pl.String),
    )


def panel_title(text: str) -> Any:
    """The title above a panel, over its labels too."""
    return alt.Title(text, anchor="start", frame="bounds", fontSize=13, color=INK, offset=4)


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


def levels_in(table: pl.DataFrame, factor: str) -> list[str]:
    """The levels of a factor as they are written, in the order of a table."""
    rows = table.select(factor).unique(maintain_order=True).rows(named=True)
    return [levels_label(row, [factor]) for row in rows]
