"""A figure and its look: a chart becomes SVG that stands inside a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

import altair as alt
import vl_convert

if TYPE_CHECKING:
    from collections.abc import Sequence

# Okabe and Ito (2008), told apart by colour-blind readers; their yellow is too pale on white.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000"]
INK = "#1f2933"
FAINT = "#d8dee4"
# Faces of the same widths, so that text fits wherever the page is opened.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
LOGARITHMIC_RATIO = 30.0
ZERO_RATIO = 0.5

LOCAL_NAME = re.compile(r'(id="|url\(#)((?:clip|gradient_)\d+)')


@dataclass(frozen=True)
class Figure:
    """A chart as SVG with what it shows and how to read it."""

    name: str
    title: str
    caption: str
    svg: str


def draw(chart: Any, name: str, title: str, caption: str) -> Figure:  # noqa: ANN401 (any Altair chart)
    """Turn a chart into a figure."""
    svg: str = vl_convert.vegalite_to_svg(_styled(chart).to_dict())
    # Two charts in one page may not share the names of their clips.
    svg = LOCAL_NAME.sub(rf"\g<1>{name}-\g<2>", svg)
    svg = svg.replace("<svg ", f'<svg role="img" aria-labelledby="{name}-title" ', 1).replace(
        ">", f'><title id="{name}-title">{escape(title)}</title>', 1
    )
    return Figure(name, title, caption, svg)


@dataclass(frozen=True)
class Extent:
    """From where to where the values of a figure go."""

    low: float
    high: float
    logarithmic: bool

    @classmethod
    def of(cls, values: Sequence[float], ends: Sequence[float]) -> Extent:
        """The extent of values and of the ends of their intervals.

        Values decide on a logarithmic axis, so that one wide interval does not bend it.
        """
        everything = [*values, *ends]
        low, high = min(everything), max(everything)
        return cls(low, high, low > 0 and max(values) / min(values) > LOGARITHMIC_RATIO)

    @property
    def starts_at_zero(self) -> bool:
        """Whether the axis does; where values differ little it would hide how they differ."""
        return 0 <= self.low < ZERO_RATIO * self.high

    @property
    def remark(self) -> str:
        """What a reader must know of the axis, or nothing."""
        if self.logarithmic:
            return " The axis is logarithmic."
        return "" if self.starts_at_zero else " The axis does not start at zero."


def value_axis(title: str, extent: Extent, **options: Any) -> dict[str, Any]:  # noqa: ANN401 (Altair's own)
    """An axis on which the smallest value is seen beside the largest."""
    if extent.logarithmic:
        low, high = extent.low / 1.1, extent.high * 1.1
        scale = alt.Scale(type="log", domain=[low, high], nice=False)
        options["values"] = _round_numbers(low, high)
    else:
        margin = 0.05 * ((extent.high - extent.low) or abs(extent.high) or 1.0)
        bottom = 0.0 if extent.starts_at_zero else extent.low - margin
        scale = alt.Scale(domain=[bottom, extent.high + margin], zero=False, nice=True)
    return {"title": title, "scale": scale, "axis": alt.Axis(tickCount=7, **options)}


def _round_numbers(low: float, high: float) -> list[float]:
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    numbers = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
    return [number for number in numbers if low <= number <= high]


def _styled(chart: Any) -> Any:  # noqa: ANN401 (any Altair chart)
    return (
        chart.properties(background="white")
        .configure(aria=False, font=FONT)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="bold",
            titlePadding=8,
            gridColor=FAINT,
            domainColor=FAINT,
            tickColor=FAINT,
        )
        .configure_header(labelColor=INK, labelFontSize=12, titleFontSize=12)
        .configure_legend(labelColor=INK, titleColor=INK, labelFontSize=12, titleFontSize=12)
        .configure_range(category=PALETTE)
    )
