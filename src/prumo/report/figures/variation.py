"""Where the variation comes from: the share of each factor, and what each of its levels does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import (
    INK,
    PALETTE,
    Extent,
    axis_title,
    draw,
    label_axis,
    mark_levels,
    plain,
    value_axis,
)
from prumo.report.label import metric_title, source_label
from prumo.statistics.metric import metric_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.statistics.summary import LevelMean
    from prumo.statistics.variation import Variation

SHARES_PIXELS = 560
SHARE_LABEL_PIXELS = 330
BAR_PIXELS = 12
GAP_PIXELS = 6
# A blue and an orange that differ in brightness too, so that they do in black and white.
COLORS = [PALETTE[0], PALETTE[3]]
LEAST_SHARE = 0.005
SHARES_CAPTION = Message(
    "Share of the sum of squares that every factor and interaction explains; what runs of the same "
    "scenario differ by is error."
)

ROW_PIXELS = 24
EFFECT_PIXELS = 600
FACTOR_LABEL_PIXELS = 200
UNBALANCED = Message(
    "Not every combination of levels has finished runs, so part of a difference may come from the "
    "combinations that are missing."
)


def variation_figures(variations: Sequence[Variation], language: Language) -> list[Figure]:
    """The shares of one or two metrics side by side; none where nothing could be allotted."""
    found = [variation for variation in variations if variation.rows][: len(COLORS)]
    if not found:
        return []
    metrics = [language.told(metric_title(variation.metric)) for variation in found]
    shares = pl.DataFrame(
        [
            {"metric": metric, **row}
            for metric, variation in zip(metrics, found, strict=True)
            for row in _shares(variation, language)
        ]
    )
    largest = shares.group_by("term", maintain_order=True).agg(pl.col("percent").max())
    order = largest.sort("percent", descending=True, maintain_order=True)["term"].to_list()
    base = alt.Chart(shares).encode(
        x=alt.X(
            "percent:Q",
            title=language.say("Share of the variation [%]"),
            scale=plain(domain=[0, 108], nice=False),
            axis=plain(values=[0, 20, 40, 60, 80, 100]),
        ),
        y=label_axis("term:N", order, labelLimit=SHARE_LABEL_PIXELS),
        yOffset=alt.YOffset("metric:N", sort=metrics),
    )
    color = mark_levels(alt.Color, "metric:N", metrics, COLORS, title=None, labelLimit=0)
    chart = alt.layer(
        base.mark_bar().encode(color=color),
        base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(
            text=alt.Text("percent:Q", format=".1f")
        ),
    ).properties(
        width=SHARES_PIXELS,
        height=alt.Step(BAR_PIXELS * len(metrics) + GAP_PIXELS, **{"for": "position"}),
    )
    heading = Message("Where the variation comes from")
    return [draw(chart, "variation", heading, [SHARES_CAPTION], language)]


def _shares(variation: Variation, language: Language) -> list[dict[str, object]]:
    """The sources that a reader would not round away, and the others together."""
    shown = [row for row in variation.rows if row.share >= LEAST_SHARE or not row.term]
    rest = [row.share for row in variation.rows if row not in shown]
    rows = [{"term": language.told(source_label(row)), "percent": 100 * row.share} for row in shown]
    if rest:
        label = Message("all smaller ones")
        rows.append({"term": language.say(label), "percent": 100 * sum(rest)})
    return rows


def effects_figures(
    effects: Sequence[LevelMean],
    metric: str,
    confidence: float,
    language: Language,
    *,
    balanced: bool,
) -> list[Figure]:
    """A panel per factor, a row per level, one axis for all."""
    means = [effect.interval.mean for effect in effects]
    scale = language.scale(max(means), metric_of(metric).unit, metric)
    table = pl.DataFrame(
        {
            "place": range(len(effects)),
            "factor": [effect.factor for effect in effects],
            "level": [effect.level for effect in effects],
            "mean": means,
            "low": [effect.interval.low for effect in effects],
            "high": [effect.interval.high for effect in effects],
        },
        schema_overrides={"low": pl.Float64, "high": pl.Float64},
    ).with_columns(pl.col("mean", "low", "high") / scale.factor)
    extent = Extent.of(table["mean"].to_list(), [*table["low"], *table["high"]])
    title = axis_title(metric_title(metric), scale.unit, language)
    parts = table.partition_by("factor", maintain_order=True)
    panels = []
    for place, part in enumerate(parts, start=1):
        is_last = place == len(parts)
        axis = value_axis(title if is_last else "", extent, labels=is_last)
        panels.append(_panel(part, alt.X("mean:Q", **axis)))
    chart = alt.vconcat(*panels, spacing=14).resolve_scale(x="shared")
    reading = Message(
        "Mean of the scenario means at each level, with its {confidence:g} % confidence interval.",
        {"confidence": 100 * confidence},
    )
    heading = Message("{metric} by level of each factor", {"metric": metric_title(metric)})
    sentences = [reading, extent.remark, None if balanced else UNBALANCED]
    return [draw(chart, "effects", heading, sentences, language)]


def _panel(table: pl.DataFrame, x: object) -> object:
    # The same room for labels in every panel keeps the panels' plots under each other.
    room = plain(labelLimit=FACTOR_LABEL_PIXELS, minExtent=FACTOR_LABEL_PIXELS)
    title = alt.Title(
        table["factor"][0], anchor="start", frame="group", fontSize=12, color=INK, offset=2
    )
    base = alt.Chart(table, title=title).encode(
        y=label_axis("level:N", table["level"].to_list(), **room)
    )
    return alt.layer(
        base.mark_line(color=PALETTE[0], opacity=0.35, strokeWidth=1.5).encode(
            x=x, order="place:Q"
        ),
        base.mark_rule(strokeWidth=2.5, color=PALETTE[0]).encode(x="low:Q", x2="high:Q"),
        base.mark_point(shape="diamond", filled=True, opacity=1, size=70, color=PALETTE[0]).encode(
            x=x
        ),
    ).properties(width=EFFECT_PIXELS, height=alt.Step(ROW_PIXELS))
