"""The tables of a report for programs: plain numbers in base units, English names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from prumo.analyse.metric import Kind, metric_of
from prumo.analyse.scaling_sentence import scaling_table

if TYPE_CHECKING:
    from prumo.analyse.variation import Variation
    from prumo.report.content import Report

VARIATION_SCHEMA = {
    "metric": pl.String,
    "logarithmic": pl.Boolean,
    "source": pl.String,
    "term": pl.String,
    "degrees_of_freedom": pl.Int64,
    "sum_of_squares": pl.Float64,
    "share": pl.Float64,
    "f": pl.Float64,
    "p_value": pl.Float64,
}


def frames_of(report: Report) -> dict[str, pl.DataFrame]:
    """The runs, their summary, where variation comes from, how sizes scale, and what runs cost.

    The same tables for every format that keeps tables; an empty one is kept too.
    """
    frames = {
        "runs": report.runs,
        "summary": report.summary,
        "variation": _variation(report),
    }
    if report.fits:
        frames["scaling"] = scaling_table(report.fits)
    money = [name for name in report.runs.columns if metric_of(name).kind is Kind.MONEY]
    if money:
        columns = ["run", "scenario", "replication", *report.factors, "verdict", *money]
        frames["cost"] = report.runs.select(columns)
    return frames


def _variation(report: Report) -> pl.DataFrame:
    rows = [row for variation in report.variations for row in _rows(variation)]
    return pl.DataFrame(rows, VARIATION_SCHEMA, orient="row")


def _rows(variation: Variation) -> list[tuple[object, ...]]:
    return [
        (
            variation.metric,
            variation.is_logarithmic,
            row.source.value,
            str(row.label),
            row.degrees_of_freedom,
            row.sum_of_squares,
            row.share,
            row.f,
            row.p_value,
        )
        for row in variation.rows
    ]
