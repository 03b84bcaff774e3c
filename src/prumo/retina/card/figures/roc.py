"""The ROC curve with the operating points on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import INK, PALETTE, SHAPES, caption, draw, plain
from prumo.retina.card.wording import told_estimate, told_point

if TYPE_CHECKING:
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.retina.judge.judgement import Judgement

SIDE_PIXELS = 360
EXPLAINED = Message(
    "Each threshold finds a share of the referable photographs and raises false alarms among the "
    "others. Bars are 95 % confidence intervals; the dashed line is a coin."
)


def roc_figure(judgement: Judgement, language: Language) -> Figure:
    """The curve from nobody referred to everybody referred."""
    layers = alt.layer(_diagonal(), _curve(judgement), *_points(judgement, language))
    chart = layers.encode(
        x=alt.X("x:Q", title=language.say("false alarms (1 - specificity)"), scale=_unit()),
        y=alt.Y("y:Q", title=language.say("sensitivity"), scale=_unit()),
    ).properties(width=SIDE_PIXELS, height=SIDE_PIXELS)
    area = Message(
        "The area under the curve is {area}.",
        {"area": told_estimate(judgement.auc, language)},
    )
    title = language.say("What each threshold would find")
    return draw(chart, "roc", title, caption([EXPLAINED, area], language), language)


def _unit() -> dict[str, object]:
    return plain(domain=[0, 1], nice=False)


def _diagonal() -> alt.Chart:
    ends = pl.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    return alt.Chart(ends).mark_line(color=INK, opacity=0.4, strokeDash=[5, 4], strokeWidth=1)


def _curve(judgement: Judgement) -> alt.Chart:
    curve = judgement.roc
    table = pl.DataFrame({"x": curve.false_alarms, "y": curve.sensitivity}).with_row_index("order")
    return (
        alt.Chart(table)
        .mark_line(color=PALETTE[0], strokeWidth=2, interpolate="linear")
        .encode(order="order:Q")
    )


def _points(judgement: Judgement, language: Language) -> list[alt.Chart]:
    rates = [(point.point.name, point.gradable) for point in judgement.points]
    titles = [told_point(name, language) for name, _ in rates]
    table = pl.DataFrame(
        {
            "point": titles,
            "x": [1 - rate.specificity.value for _, rate in rates],
            "y": [rate.sensitivity.value for _, rate in rates],
            "left": [1 - (rate.specificity.high or 0.0) for _, rate in rates],
            "right": [1 - (rate.specificity.low or 0.0) for _, rate in rates],
            "bottom": [rate.sensitivity.low for _, rate in rates],
            "top": [rate.sensitivity.high for _, rate in rates],
        }
    )
    legend = plain(title=language.say("operating point"), orient="right")
    colours = alt.Color(
        "point:N", sort=titles, legend=legend, scale=plain(domain=titles, range=PALETTE[1:])
    )
    shapes = alt.Shape(
        "point:N", sort=titles, legend=legend, scale=plain(domain=titles, range=SHAPES)
    )
    base = alt.Chart(table)
    return [
        base.mark_rule(strokeWidth=1.5).encode(x2="right:Q", x="left:Q", color=colours),
        base.mark_rule(strokeWidth=1.5).encode(y2="top:Q", y="bottom:Q", color=colours),
        base.mark_point(filled=True, size=110, opacity=1).encode(color=colours, shape=shapes),
    ]
