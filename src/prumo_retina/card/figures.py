"""Figures of a card: the confusion matrix, the ROC curve and the reliability diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import FAINT, INK, PALETTE, SHAPES, draw, plain
from prumo_retina.card.layout import formatted_estimate
from prumo_retina.grade import Grade, point_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo_retina.judge import Judgement


CELL_PIXELS = 64
LETTER_PIXELS = 8
_DARK = 0.55
_CONFUSION_EXPLAINED = Message(
    "Counts of gradable photographs; the darker a cell, the larger its share of the row."
)


def confusion_figure(judgement: Judgement, point: str, language: Language) -> Figure:
    """Answered against true grades, or referrals by true grade for a model without grades."""
    rows = [f"{grade:d}" for grade in Grade]
    if judgement.grades is not None:
        counts, columns = judgement.grades.confusion.tolist(), rows
        answer = language.say("grade given by the model")
    else:
        rates = next(rates for rates in judgement.points if rates.point.name == point)
        estimates = rates.referred_by_grade.values()
        referred = [round(e.value * e.n) if e.n else 0 for e in estimates]
        counts = [[e.n - hits, hits] for e, hits in zip(estimates, referred, strict=True)]
        columns = [language.say("not referred"), language.say("referred")]
        answer = language.say("answer of the model")
    chart = _heat(counts, rows, columns, (language.say("true grade"), answer))
    title = Message("Photographs by true grade and answer")
    return draw(chart, "confusion", title, [_CONFUSION_EXPLAINED], language)


def _heat(
    counts: Sequence[Sequence[int]],
    rows: Sequence[str],
    columns: Sequence[str],
    titles: tuple[str, str],
) -> alt.LayerChart:
    cells = pl.DataFrame(
        [
            {"true": row, "answer": column, "count": count, "share": count / max(1, sum(line))}
            for row, line in zip(rows, counts, strict=True)
            for column, count in zip(columns, line, strict=True)
        ]
    )
    upright = plain(labelAngle=0, domain=False, ticks=False)
    base = alt.Chart(cells).encode(
        x=alt.X("answer:N", sort=list(columns), title=titles[1], axis=upright),
        y=alt.Y("true:N", sort=list(rows), title=titles[0], axis=upright),
    )
    shades = plain(domain=[0, 1], range=["#ffffff", PALETTE[0]], interpolate="rgb")
    return alt.layer(
        base.mark_rect(stroke=FAINT).encode(color=alt.Color("share:Q", scale=shades, legend=None)),
        base.mark_text(fontSize=14).encode(
            text="count:Q",
            color=alt.condition(f"datum.share > {_DARK}", alt.value("white"), alt.value(INK)),
        ),
    ).properties(
        width=max(CELL_PIXELS, LETTER_PIXELS * max(map(len, columns))) * len(columns),
        height=0.75 * CELL_PIXELS * len(rows),
    )


SIDE_PIXELS = 360
_ROC_EXPLAINED = Message(
    "Each threshold finds a share of the referable photographs and raises false alarms among the "
    "others. Bars are 95 % confidence intervals; the dashed line is a coin."
)


def roc_figure(judgement: Judgement, language: Language) -> Figure:
    """The curve from nobody referred to everybody referred."""
    curve = {"x": judgement.roc.false_alarms, "y": judgement.roc.sensitivity}
    line = alt.Chart(pl.DataFrame(curve).with_row_index("order")).mark_line(
        color=PALETTE[0], strokeWidth=2, interpolate="linear"
    )
    layers = alt.layer(_diagonal(), line.encode(order="order:Q"), *_points(judgement, language))
    chart = layers.encode(
        x=alt.X("x:Q", title=language.say("false alarms (1 - specificity)"), scale=_unit()),
        y=alt.Y("y:Q", title=language.say("sensitivity"), scale=_unit()),
    ).properties(width=SIDE_PIXELS, height=SIDE_PIXELS)
    area = Message(
        "The area under the curve is {area}.",
        {"area": formatted_estimate(judgement.auc, language)},
    )
    title = Message("What each threshold would find")
    return draw(chart, "roc", title, [_ROC_EXPLAINED, area], language)


def _unit() -> dict[str, object]:
    return plain(domain=[0, 1], nice=False)


def _diagonal() -> alt.Chart:
    ends = pl.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]})
    return alt.Chart(ends).mark_line(color=INK, opacity=0.4, strokeDash=[5, 4], strokeWidth=1)


def _points(judgement: Judgement, language: Language) -> list[alt.Chart]:
    rates = [(point.point.name, point.gradable) for point in judgement.points]
    titles = [point_label(name, language) for name, _ in rates]
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
    marks = _marks("point:N", titles, PALETTE[1:], language.say("operating point"))
    base, colour = alt.Chart(table), marks["color"]
    return [
        base.mark_rule(strokeWidth=1.5).encode(x2="right:Q", x="left:Q", color=colour),
        base.mark_rule(strokeWidth=1.5).encode(y2="top:Q", y="bottom:Q", color=colour),
        base.mark_point(filled=True, size=110, opacity=1).encode(**marks),
    ]


def _marks(
    field: str, names: list[str], colours: list[str], title: str | None
) -> dict[str, alt.Color | alt.Shape]:
    """Colours and shapes for names, in one legend."""
    legend = plain(title=title, orient="right")
    return {
        "color": alt.Color(field, legend=legend, scale=plain(domain=names, range=colours)),
        "shape": alt.Shape(field, legend=legend, scale=plain(domain=names, range=SHAPES)),
    }


_RELIABILITY_EXPLAINED = Message(
    "Each mark stands for about a tenth of the photographs, which have about the same probability; "
    "on the dashed line it would be as often right as it says. Bars are 95 % confidence intervals."
)


def reliability_figure(judgement: Judgement, language: Language) -> Figure:
    """How many photographs of about one probability were referable."""
    before, after = language.each("before scaling", "after temperature scaling")
    table = pl.DataFrame(
        [
            {
                "kind": kind,
                "x": part.mean_probability,
                "y": part.share.value,
                "low": part.share.low,
                "high": part.share.high,
            }
            for kind, found in ((before, judgement.uncalibrated), (after, judgement.calibration))
            for part in found.bins
        ]
    )
    x = alt.X("x:Q", title=language.say("mean probability of a referral"), scale=_unit())
    y = alt.Y("y:Q", title=language.say("share that is referable"), scale=_unit())
    marks = _marks("kind:N", [before, after], [PALETTE[3], PALETTE[0]], None)
    base, colour = alt.Chart(table), marks["color"]
    chart = alt.layer(
        _diagonal().encode(x=x, y=y),
        base.mark_line(strokeWidth=1, opacity=0.5).encode(x=x, y=y, color=colour),
        base.mark_rule(strokeWidth=1.2).encode(
            x=x, y=alt.Y("low:Q", scale=_unit()), y2="high:Q", color=colour
        ),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, **marks),
    ).properties(width=SIDE_PIXELS, height=SIDE_PIXELS)
    title = Message("Whether probabilities mean what they say")
    return draw(chart, "reliability", title, [_RELIABILITY_EXPLAINED], language)
