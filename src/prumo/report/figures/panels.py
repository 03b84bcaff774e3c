"""Small panels beside one another on the same axes, so that curves compare at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from prumo.report.figures.figure import INK, plain
from prumo.report.label import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Sequence

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
