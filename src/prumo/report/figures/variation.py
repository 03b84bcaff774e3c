"""Where the variation of time and money comes from: a bar per factor, interaction and error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from prumo.analyse.metric import metric_of
from prumo.message import Message
from prumo.report.figures.figure import INK, PALETTE, draw, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.analyse.variation import Variation
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

PLOT_PIXELS = 560
LABEL_PIXELS = 330
BAR_PIXELS = 12
GAP_PIXELS = 6
# A blue and an orange that differ in brightness too, so that they do in black and white.
COLORS = [PALETTE[0], PALETTE[3]]
LEAST_SHARE = 0.005
READING = Message(
    "Share of the sum of squares that every factor and interaction explains; what runs of the same "
    "scenario differ by is error."
)


def variation_figure(variations: Sequence[Variation], language: Language) -> Figure | None:
    """The shares of one or two metrics side by side; None where nothing could be allotted."""
    found = [variation for variation in variations if variation.rows][: len(COLORS)]
    if not found:
        return None
    metrics = [language.told(metric_of(variation.metric).title) for variation in found]
    shares = pl.DataFrame(
        [
            {"metric": metric, **row}
            for metric, variation in zip(metrics, found, strict=True)
            for row in _shares(variation, language)
        ]
    )
    order = _order(shares)
    base = alt.Chart(shares).encode(
        x=alt.X(
            "percent:Q",
            title=language.say("Share of the variation [%]"),
            scale=plain(domain=[0, 108], nice=False),
            axis=plain(values=[0, 20, 40, 60, 80, 100]),
        ),
        y=alt.Y(
            "term:N",
            sort=order,
            title=None,
            axis=plain(labelLimit=LABEL_PIXELS, ticks=False, domain=False, labelPadding=8),
        ),
        yOffset=alt.YOffset("metric:N", sort=metrics),
    )
    color = alt.Color(
        "metric:N",
        sort=metrics,
        scale=plain(domain=metrics, range=COLORS[: len(metrics)]),
        legend=plain(title=None, orient="top", labelLimit=0),
    )
    chart = alt.layer(
        base.mark_bar().encode(color=color),
        base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(
            text=alt.Text("percent:Q", format=".1f")
        ),
    ).properties(
        width=PLOT_PIXELS,
        height=alt.Step(BAR_PIXELS * len(metrics) + GAP_PIXELS, **{"for": "position"}),
    )
    return draw(
        chart,
        "variation",
        language.say("Where the variation comes from"),
        language.say(READING),
        language,
    )


def _shares(variation: Variation, language: Language) -> list[dict[str, object]]:
    """The sources that a reader would not round away, and the others together."""
    told = [row for row in variation.rows if row.share >= LEAST_SHARE or not row.term]
    rest = [row.share for row in variation.rows if row not in told]
    rows = [{"term": language.told(row.label), "percent": 100 * row.share} for row in told]
    if rest:
        label = Message("all smaller ones")
        rows.append({"term": language.say(label), "percent": 100 * sum(rest)})
    return rows


def _order(shares: pl.DataFrame) -> list[str]:
    largest = shares.group_by("term", maintain_order=True).agg(pl.col("percent").max())
    return largest.sort("percent", descending=True, maintain_order=True)["term"].to_list()
