"""Where a metric's variation comes from, in sentences, tables and plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from prumo.message import Message, Series, listed
from prumo.quantity import MISSING
from prumo.report.label import metric_title
from prumo.statistics.variation import FindingKind, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.language import Language
    from prumo.statistics.factorial import Term
    from prumo.statistics.variation import Finding, Variation, VariationRow

# A smaller p value says no more to a reader.
LEAST_P_TOLD = 0.001
SHARES_SHOWN = 4
# A share that a reader would round away is not worth a place in a sentence.
LEAST_SHARE_SHOWN = 0.005
TERM_SIGN = " \N{MULTIPLICATION SIGN} "

TEXTS = {
    FindingKind.NO_VALUES: "{metric}: no finished run has a value.",
    FindingKind.NO_FACTORS: (
        "No factor has runs at more than one level, so there is nothing to compare."
    ),
    FindingKind.NO_VARIATION: "{metric} is the same in every run: there is no variation.",
    FindingKind.LOGARITHMS: (
        "Logarithms are analysed: factors multiply such a metric rather than add to it."
    ),
    FindingKind.NO_LOGARITHMS: (
        "Values are analysed as they are: some are not positive and have no logarithm."
    ),
    FindingKind.AS_THEY_ARE: "Values are analysed as they are.",
    FindingKind.ALIASED: (
        "The levels of {factors} change only together with those of other factors: what they "
        "do is counted with those."
    ),
    FindingKind.INTERACTIONS_CONFOUNDED: (
        "These combinations do not tell larger interactions from smaller ones."
    ),
    FindingKind.FRACTION: (
        "Only effects of single factors are told: these combinations are a fraction in "
        "which interactions look like such effects, or like each other."
    ),
    FindingKind.NO_COMPLETE_PAIR: (
        "Only effects of single factors are told: no two factors were measured in all "
        "combinations of their levels."
    ),
    FindingKind.INCOMPLETE: (
        "Not told by themselves, because combinations of their levels are missing: {terms}."
    ),
    FindingKind.TOO_MANY_INTERACTIONS: (
        "Interactions of more factors are too many to be told one by one."
    ),
    FindingKind.INTERACTIONS_AS_ERROR: (
        "Every combination ran once: the interactions that have no row of their own stand for "
        "error, which makes the tests cautious."
    ),
    FindingKind.NO_ERROR_LEFT: (
        "Every combination ran once and none is left to tell error from effects: there are "
        "shares and no tests. Replications give both."
    ),
    FindingKind.OVERLAPPING_SHARES: (
        "The shares add up to {percent:.1f} %: combinations are missing or ran unequally "
        "often, so that effects overlap or hide each other (type II sums of squares)."
    ),
    FindingKind.NO_SPREAD_WITHIN: (
        "Runs of the same combination do not differ at all, so every difference is certain and "
        "no test is needed."
    ),
    FindingKind.EXACT: (
        "The terms explain every run exactly: there are shares and no tests. Replications "
        "would tell how runs differ."
    ),
    FindingKind.NOT_NORMAL: (
        "The residuals are not normal (Shapiro-Wilk, p = {p:.2g}): take p values near "
        "the limit with caution. The shares hold all the same."
    ),
    FindingKind.UNEQUAL_SPREAD: (
        "Some combinations spread more than others (Brown-Forsythe, p = {p:.2g}): take "
        "p values near the limit with caution. The shares hold all the same."
    ),
    FindingKind.GOOD_RESIDUALS: (
        "Nothing speaks against normal residuals of one spread (Shapiro-Wilk, "
        "p = {normality:.2g}; Brown-Forsythe, p = {spread:.2g})."
    ),
}


@dataclass(frozen=True)
class VariationTable:
    """One metric: the largest shares in a sentence, every source in a row."""

    title: str
    summary: Message
    rows: list[dict[str, str]]
    remarks: list[Message]


def variation_tables(variations: Sequence[Variation], language: Language) -> list[VariationTable]:
    """A table for every metric whose variation could be allotted."""
    return [
        VariationTable(
            title=language.told(metric_title(variation.metric)),
            summary=summary,
            rows=variation_rows(variation, language),
            remarks=variation_remarks(variation),
        )
        for variation in variations
        if (summary := variation_summary(variation)) is not None
    ]


def variation_summary(variation: Variation) -> Message | None:
    """The largest shares in a sentence; None where nothing was allotted."""
    if not variation.rows:
        return None
    largest = sorted(
        (row for row in variation.rows if row.source is not Source.ERROR),
        key=lambda row: -row.share,
    )
    shown = [row for row in largest[:SHARES_SHOWN] if row.share >= LEAST_SHARE_SHOWN]
    left = [row for row in variation.rows if row.source is Source.ERROR]
    shares = [
        Message(
            "{percent:.1f} % {source}", {"percent": 100 * row.share, "source": source_label(row)}
        )
        for row in [*shown, *left]
    ]
    return Message(
        "{metric}, where its variation comes from: {shares}.",
        {"metric": metric_title(variation.metric), "shares": Series(tuple(shares))},
    )


def variation_remarks(variation: Variation) -> list[Message]:
    """What a reader must know to read the table, or why there is none."""
    return [_remark(finding, variation.metric) for finding in variation.findings]


def source_label(row: VariationRow) -> Message | Series:
    """What a reader calls a source: its factors, or what is left."""
    if row.source is Source.ERROR:
        return Message("error")
    if row.source is Source.OTHER:
        return Message("other interactions")
    return _term_label(row.term)


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
        "remarks": [language.say(remark) for remark in variation_remarks(variation)],
    }


def _row(row: VariationRow, language: Language) -> dict[str, str]:
    return {
        "source": language.told(source_label(row)),
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


def _remark(finding: Finding, metric: str) -> Message:
    values = dict(finding.values)
    if finding.kind in {FindingKind.NO_VALUES, FindingKind.NO_VARIATION}:
        values["metric"] = metric_title(metric)
    if factors := values.get("factors"):
        values["factors"] = listed(cast("Sequence[str]", factors))
    if terms := values.get("terms"):
        values["terms"] = listed([_term_label(term) for term in cast("Sequence[Term]", terms)])
    return Message(TEXTS[finding.kind], values)


def _term_label(term: Term) -> Series:
    """A term as it is written: its factors with a multiplication sign between them."""
    return Series(term, TERM_SIGN)
