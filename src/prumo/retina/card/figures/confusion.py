"""Which answer was given to photographs of each true grade."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from prumo.message import Message
from prumo.report.figures.figure import FAINT, INK, PALETTE, caption, draw, plain
from prumo.retina.grade import Grade

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.retina.judge.judgement import Judgement
    from prumo.retina.judge.point_rates import PointRates

CELL_PIXELS = 64
LETTER_PIXELS = 8
_DARK = 0.55
EXPLAINED = Message(
    "Counts of gradable photographs; the darker a cell, the larger its share of the row."
)


def confusion_figure(judgement: Judgement, point: str, language: Language) -> Figure:
    """Grades told for true ones, or referrals by true grade for a model that tells no grades."""
    rows = [f"{grade:d}" for grade in Grade]
    if judgement.grades is not None:
        counts, columns = judgement.grades.confusion.tolist(), rows
        told = language.say("grade that the model told")
    else:
        rates = next(rates for rates in judgement.points if rates.point.name == point)
        counts = _referral_counts(rates)
        columns = [language.say("not referred"), language.say("referred")]
        told = language.say("answer of the model")
    chart = _heat(_cells(counts, rows, columns), rows, columns, (language.say("true grade"), told))
    title = language.say("Photographs by true grade and answer")
    return draw(chart, "confusion", title, caption([EXPLAINED], language), language)


def _referral_counts(rates: PointRates) -> list[list[int]]:
    found = []
    for estimate in rates.referred_by_grade.values():
        referred = round(estimate.value * estimate.n) if estimate.n else 0
        found.append([estimate.n - referred, referred])
    return found


def _cells(
    counts: Sequence[Sequence[int]], rows: Sequence[str], columns: Sequence[str]
) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"true": row, "told": column, "count": count, "share": count / max(1, sum(line))}
            for row, line in zip(rows, counts, strict=True)
            for column, count in zip(columns, line, strict=True)
        ]
    )


def _heat(
    cells: pl.DataFrame, rows: Sequence[str], columns: Sequence[str], titles: tuple[str, str]
) -> alt.LayerChart:
    upright = plain(labelAngle=0, domain=False, ticks=False)
    base = alt.Chart(cells).encode(
        x=alt.X("told:N", sort=list(columns), title=titles[1], axis=upright),
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
