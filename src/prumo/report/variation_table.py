"""The analysis of variance of a metric as rows of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prumo.quantity import MISSING
from prumo.statistics.metric import metric_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.message import Message
    from prumo.report.language import Language
    from prumo.statistics.variation import Variation, VariationRow

# A smaller p value says no more to a reader.
LEAST_P_TOLD = 0.001


@dataclass(frozen=True)
class VariationTable:
    """One metric: the largest shares in a sentence, every source in a row."""

    title: str
    summary: Message
    rows: list[dict[str, str]]
    remarks: tuple[Message, ...]


def variation_tables(variations: Sequence[Variation], language: Language) -> list[VariationTable]:
    """A table for every metric whose variation could be allotted."""
    return [
        VariationTable(
            title=language.told(metric_of(variation.metric).title),
            summary=variation.summary,
            rows=variation_rows(variation, language),
            remarks=variation.remarks,
        )
        for variation in variations
        if variation.summary is not None
    ]


def variation_rows(variation: Variation, language: Language) -> list[dict[str, str]]:
    """Every source of one metric's variation."""
    return [_row(row, language) for row in variation.rows]


def variation_document(variation: Variation, language: Language) -> dict[str, Any]:
    """The same as plain values, for programs."""
    return {
        "metric": variation.metric,
        "logarithmic": variation.is_logarithmic,
        "rows": [
            {
                "source": row.source.value,
                "factors": list(row.term),
                "degrees_of_freedom": row.degrees_of_freedom,
                "sum_of_squares": row.sum_of_squares,
                "share": row.share,
                "f": row.f,
                "p": row.p_value,
            }
            for row in variation.rows
        ],
        "remarks": [language.say(remark) for remark in variation.remarks],
    }


def _row(row: VariationRow, language: Language) -> dict[str, str]:
    return {
        "source": language.told(row.label),
        "degrees_of_freedom": str(row.degrees_of_freedom),
        "squares": language.number(row.sum_of_squares),
        "share": f"{language.formatted(100 * row.share, '.1f')} %",
        "f": MISSING if row.f is None else language.number(row.f),
        "p": _p_value(row.p_value, language),
    }


def _p_value(p_value: float | None, language: Language) -> str:
    if p_value is None:
        return MISSING
    if p_value < LEAST_P_TOLD:
        return f"< {language.formatted(LEAST_P_TOLD, 'g')}"
    return language.formatted(p_value, ".3f")
