"""A figure and its look: a chart becomes SVG that stands inside a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

import altair as alt
import vl_convert

from prumo.message import Message
from prumo.statistics.metric import UNITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.language import Language

# Okabe and Ito (2008), told apart by colour-blind readers; their yellow is too pale on white.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000"]
# Shapes beside colours, for readers and printers that see few colours.
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]
INK = "#1f2933"
FAINT = "#d8dee4"
# Faces of the same widths, so that text fits wherever the page is opened.
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
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
    },
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


def draw(chart: Any, name: str, title: str, caption: str, language: Language) -> Figure:  # noqa: ANN401 (any Altair chart)
    """Turn a chart into a figure whose numbers are written as in the language."""
    # The limit is for notebooks that keep the data; here they become lines at once.
    with alt.data_transformers.disable_max_rows():
        specification = {**chart.to_dict(validate=False), "background": "white", "config": STYLE}
    svg: str = vl_convert.vegalite_to_svg(specification, format_locale=_number_format(language))
    # Two charts in one page may not share the names of their clips.
    svg = LOCAL_NAME.sub(rf"\g<1>{name}-\g<2>", svg)
    svg = svg.replace("<svg ", f'<svg role="img" aria-labelledby="{name}-title" ', 1).replace(
        ">", f'><title id="{name}-title">{escape(title)}</title>', 1
    )
    return Figure(name, title, caption, svg)


def plain(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 (fields of an axis, a scale, a legend)
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


def caption(sentences: Sequence[Message | str | None], language: Language) -> str:
    """The sentences that there are, one after the other."""
    return " ".join(language.say(sentence) for sentence in sentences if sentence)


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
    def remark(self) -> Message | None:
        """What a reader must know of the axis, or nothing."""
        if self.logarithmic:
            return Message("The axis is logarithmic.")
        return None if self.starts_at_zero else Message("The axis does not start at zero.")


def value_axis(title: str, extent: Extent, **options: Any) -> dict[str, Any]:  # noqa: ANN401 (Altair's own)
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


def _number_format(language: Language) -> dict[str, Any]:
    """The language's marks as d3-format, which writes the numbers of an axis, wants them."""
    marks = language.marks
    return {
        "decimal": marks.decimal,
        "thousands": marks.group,
        "grouping": [3],
        "currency": ["", ""],
    }
