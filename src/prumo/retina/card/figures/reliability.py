"""Probabilities beside shares, before and after temperature scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import INK, PALETTE, SHAPES, caption, draw, plain
from prumo.retina.card.figures.roc import SIDE_PIXELS

if TYPE_CHECKING:
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.retina.judge.calibration import Calibration
    from prumo.retina.judge.judgement import Judgement

EXPLAINED = Message(
    "Each mark stands for about a tenth of the photographs, which have about the same probability; "
    "on the dashed line it would be as often right as it says. Bars are 95 % confidence intervals."
)


def reliability_figure(judgement: Judgement, language: Language) -> Figure:
    """How many photographs of about one probability were referable."""
    before, after = language.say("before scaling"), language.say("after temperature scaling")
    table = pl.concat([_bins(judgement.uncalibrated, before), _bins(judgement.calibration, after)])
    ends = pl.DataFrame({"probability": [0.0, 1.0], "share": [0.0, 1.0]})
    scale = plain(domain=[0, 1], nice=False)
    x = alt.X("probability:Q", title=language.say("mean probability of a referral"), scale=scale)
    y = alt.Y("share:Q", title=language.say("share that is referable"), scale=scale)
    marks = {
        "color": alt.Color(
            "kind:N",
            legend=plain(title=None, orient="right"),
            scale=plain(domain=[before, after], range=[PALETTE[3], PALETTE[0]]),
        ),
        "shape": alt.Shape(
            "kind:N",
            legend=plain(title=None, orient="right"),
            scale=plain(domain=[before, after], range=SHAPES),
        ),
    }
    base = alt.Chart(table)
    dashed = alt.Chart(ends).mark_line(color=INK, opacity=0.4, strokeDash=[5, 4], strokeWidth=1)
    chart = alt.layer(
        dashed.encode(x=x, y=y),
        base.mark_line(strokeWidth=1, opacity=0.5).encode(x=x, y=y, color=marks["color"]),
        base.mark_rule(strokeWidth=1.2).encode(
            x=x, y=alt.Y("low:Q", scale=scale), y2="high:Q", color=marks["color"]
        ),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, **marks),
    ).properties(width=SIDE_PIXELS, height=SIDE_PIXELS)
    title = language.say("Whether probabilities mean what they say")
    return draw(chart, "reliability", title, caption([EXPLAINED], language), language)


def _bins(calibration: Calibration, kind: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "kind": [kind for _ in calibration.bins],
            "probability": [part.mean_probability for part in calibration.bins],
            "share": [part.share.value for part in calibration.bins],
            "low": [part.share.low for part in calibration.bins],
            "high": [part.share.high for part in calibration.bins],
        }
    )
