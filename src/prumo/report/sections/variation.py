"""Where a metric's variation comes from, in sentences, tables and plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, cast

import polars as pl

from prumo.message import Message, Series, listed
from prumo.report.figures.variation import effects_figures, variation_figures
from prumo.report.label import metric_title, source_label, term_label
from prumo.report.sections.section import FigureSection, PageSection, Section, TextTable
from prumo.statistics.variation import FindingKind, Source, variation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results
    from prumo.statistics.factorial import Term
    from prumo.statistics.variation import Finding, Variation

SHARES_SHOWN = 4
# A share that a reader would round away is not worth a place in a sentence.
LEAST_SHARE_SHOWN = 0.005

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
        "These combinations cannot separate larger interactions from smaller ones."
    ),
    FindingKind.FRACTION: (
        "Only effects of single factors are reported: these combinations are a fraction in which "
        "interactions look like such effects, or like each other."
    ),
    FindingKind.NO_COMPLETE_PAIR: (
        "Only effects of single factors are reported: no two factors were measured in all "
        "combinations of their levels."
    ),
    FindingKind.INCOMPLETE: (
        "Not reported separately, because combinations of their levels are missing: {terms}."
    ),
    FindingKind.TOO_MANY_INTERACTIONS: (
        "Interactions of more factors are too many to be reported one by one."
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
        "No evidence against normal residuals of one spread (Shapiro-Wilk, p = {normality:.2g}; "
        "Brown-Forsythe, p = {spread:.2g})."
    ),
}


FRAME_SCHEMA = {
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
COLUMNS = ("source", "share", "squares", "degrees_of_freedom", "f", "p")


@dataclass(frozen=True)
class VariationSection(Section):
    """Where the variation of the main metric comes from, and of the cost where there is one."""

    name = "variation"
    variations: tuple[Variation, ...]

    @classmethod
    def of(cls, _results: Results, report: Report, /) -> Self:
        """The variation of a report's main metrics, allotted to its factors."""
        runs, factors = report.runs, report.varying
        found = tuple(variation(runs, factors, metric) for metric in report.main_metrics)
        return cls(report, found)

    def figures(self, language: Language, /) -> list[Figure]:
        """The shares as bars."""
        return variation_figures(self.variations, language)

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """A sentence, a table and remarks for every metric whose variation could be allotted."""
        tables = [
            {
                "title": language.told(metric_title(found.metric)),
                "summary": summary,
                "rows": _rows(found, language),
                "remarks": variation_remarks(found),
            }
            for found in self.variations
            if (summary := variation_summary(found)) is not None
        ]
        if not tables:
            return None
        title = language.say("Where the variation comes from")
        return PageSection(self.name, title, "variation", {"tables": tables})

    def document(self, language: Language, /) -> dict[str, Any]:
        """Every source of variation, and the remarks."""
        return {"variations": [_document(found, language) for found in self.variations]}

    def tables(self, language: Language, /) -> list[TextTable]:
        """An analysis of variance for each metric."""
        return [_text_table(found, language) for found in self.variations]

    def frames(self) -> dict[str, pl.DataFrame]:
        """A row for each source and metric."""
        rows = [
            {
                **vars(row),
                "metric": found.metric,
                "logarithmic": found.is_logarithmic,
                "source": row.source.value,
                "term": str(source_label(row)),
            }
            for found in self.variations
            for row in found.rows
        ]
        return {self.name: pl.DataFrame(rows, FRAME_SCHEMA)}


class EffectsSection(FigureSection):
    """The mean of the main metric at each level of each factor."""

    name = "effects"

    def figures(self, language: Language, /) -> list[Figure]:
        """A panel for each factor, where there are several."""
        report = self.report
        if report.main_metric is None or len(report.compared) <= 1:
            return []
        metric, confidence, balanced = report.main_metric, report.confidence, report.balanced
        return effects_figures(report.effects, metric, confidence, language, balanced=balanced)


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


def _rows(variation: Variation, language: Language) -> list[dict[str, str]]:
    """Every source of one metric's variation."""
    return [
        {
            "source": language.told(source_label(row)),
            "degrees_of_freedom": str(row.degrees_of_freedom),
            "squares": language.number(row.sum_of_squares),
            "share": language.share(row.share),
            "f": language.number(row.f),
            "p": language.p_value(row.p_value),
        }
        for row in variation.rows
    ]


def _text_table(variation: Variation, language: Language) -> TextTable:
    title = {"metric": metric_title(variation.metric)}
    return TextTable(
        name=f"variation-{variation.metric}",
        title=language.say(Message("Analysis of variance: {metric}", title)),
        heads=(
            language.say("Source"),
            language.say("Share"),
            language.say("Sum of squares"),
            language.say("Degrees of freedom"),
            "F",
            "p",
        ),
        rows=tuple(tuple(row[name] for name in COLUMNS) for row in _rows(variation, language)),
        words=1,
    )


def _document(variation: Variation, language: Language) -> dict[str, Any]:
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


def _remark(finding: Finding, metric: str) -> Message:
    values = dict(finding.values)
    if finding.kind in {FindingKind.NO_VALUES, FindingKind.NO_VARIATION}:
        values["metric"] = metric_title(metric)
    if factors := values.get("factors"):
        values["factors"] = listed(cast("Sequence[str]", factors))
    if terms := values.get("terms"):
        values["terms"] = listed([term_label(term) for term in cast("Sequence[Term]", terms)])
    return Message(TEXTS[finding.kind], values)
