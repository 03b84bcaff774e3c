"""How the main metric changes from level to level of each factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from prumo.analyse.metric import metric_of
from prumo.message import Message
from prumo.report.figures.figure import (
    INK,
    PALETTE,
    Extent,
    axis_title,
    caption,
    draw,
    plain,
    value_axis,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.analyse.effect import LevelMean
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language

ROW_PIXELS = 24
PLOT_PIXELS = 600
LABEL_PIXELS = 200
UNBALANCED = Message(
    "Not every combination of levels has finished runs, so part of a difference may come from the "
    "combinations that are missing."
)


def effects_figure(
    effects: Sequence[LevelMean],
    metric: str,
    confidence: float,
    language: Language,
    *,
    balanced: bool,
) -> Figure:
    """A panel per factor, a row per level, one axis for all."""
    known = metric_of(metric)
    scale = language.scale(max(effect.interval.mean for effect in effects), known.unit)
    table = pl.DataFrame(
        {
            "place": range(len(effects)),
            "factor": [effect.factor for effect in effects],
            "level": [effect.level for effect in effects],
            "mean": [effect.interval.mean / scale.factor for effect in effects],
            "low": [_scaled(effect.interval.low, scale.factor) for effect in effects],
            "high": [_scaled(effect.interval.high, scale.factor) for effect in effects],
        },
        schema_overrides={"low": pl.Float64, "high": pl.Float64},
    )
    ends = pl.concat([table["low"], table["high"]]).drop_nulls()
    extent = Extent.of(table["mean"].to_list(), ends.to_list())
    factors = table["factor"].unique(maintain_order=True).to_list()
    title = axis_title(known.title, scale.unit, language)
    panels = [
        _panel(
            table.filter(pl.col("factor") == factor),
            factor,
            alt.X(
                "mean:Q",
                **value_axis(
                    title if factor == factors[-1] else "", extent, labels=factor == factors[-1]
                ),
            ),
        )
        for factor in factors
    ]
    chart = alt.vconcat(*panels, spacing=14).resolve_scale(x="shared")
    reading = Message(
        "Mean of the scenario means at each level, with its {confidence:g} % confidence interval.",
        {"confidence": 100 * confidence},
    )
    return draw(
        chart,
        "effects",
        language.say(Message("{metric} by level of each factor", {"metric": known.title})),
        caption([reading, extent.remark, None if balanced else UNBALANCED], language),
        language,
    )


def _panel(table: pl.DataFrame, factor: str, x: object) -> object:
    y = alt.Y(
        "level:N",
        sort=table["level"].to_list(),
        title=None,
        axis=plain(
            labelLimit=LABEL_PIXELS,
            # The same room for labels in every panel keeps the panels' plots under each other.
            minExtent=LABEL_PIXELS,
            ticks=False,
            domain=False,
            labelPadding=8,
        ),
    )
    base = alt.Chart(
        table,
        title=alt.Title(factor, anchor="start", frame="group", fontSize=12, color=INK, offset=2),
    ).encode(y=y)
    return alt.layer(
        base.mark_line(color=PALETTE[0], opacity=0.35, strokeWidth=1.5).encode(
            x=x, order="place:Q"
        ),
        base.mark_rule(strokeWidth=2.5, color=PALETTE[0]).encode(x="low:Q", x2="high:Q"),
        base.mark_point(shape="diamond", filled=True, opacity=1, size=70, color=PALETTE[0]).encode(
            x=x
        ),
    ).properties(width=PLOT_PIXELS, height=alt.Step(ROW_PIXELS))


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value / factor
