"""The tables of a report for readers: words and numbers as they stand on paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prumo.analyse.metric import metric_of
from prumo.message import Message
from prumo.report.failure import failure_groups
from prumo.report.label import levels_label
from prumo.report.variation_table import variation_rows

if TYPE_CHECKING:
    from prumo.analyse.variation import Variation
    from prumo.report.content import Report
    from prumo.report.language import Language

VARIATION_COLUMNS = ("source", "share", "squares", "degrees_of_freedom", "f", "p")


@dataclass(frozen=True)
class TextTable:
    """Cells as texts under their heads."""

    name: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int
    """How many of the first columns hold words; the others hold numbers."""


def text_tables(report: Report, language: Language) -> list[TextTable]:
    """A table per selected metric, where its variation comes from, and the failures."""
    tables = [_metric(report, metric, language) for metric in report.selected]
    tables += [_variation(variation, language) for variation in report.variations]
    tables.append(_failures(report, language))
    return [table for table in tables if table.rows]


def _metric(report: Report, metric: str, language: Language) -> TextTable:
    confidence = {"confidence": language.percent(report.confidence)}
    return TextTable(
        name=metric,
        title=language.told(metric_of(metric).title),
        heads=(
            language.say("Scenario"),
            *report.varying,
            language.say("n"),
            language.say("Mean"),
            language.say("Std. deviation"),
            language.say(Message("{confidence} interval", confidence)),
            language.say("Median"),
        ),
        rows=tuple(
            (
                row["scenario"],
                *(levels_label(row, [factor]) for factor in report.varying),
                *_statistics(row, language),
            )
            for row in report.metric_summary(metric).iter_rows(named=True)
        ),
        words=1 + len(report.varying),
    )


def _statistics(row: dict[str, Any], language: Language) -> tuple[str, ...]:
    scale = language.scale(row["mean"], row["unit"])
    return (
        str(row["n"]),
        scale.text(row["mean"]),
        scale.number(row["standard_deviation"]),
        scale.interval(row["ci_low"], row["ci_high"]),
        scale.number(row["median"]),
    )


def _variation(variation: Variation, language: Language) -> TextTable:
    title = {"metric": metric_of(variation.metric).title}
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
        rows=tuple(
            tuple(row[column] for column in VARIATION_COLUMNS)
            for row in variation_rows(variation, language)
        ),
        words=1,
    )


def _failures(report: Report, language: Language) -> TextTable:
    return TextTable(
        name="failures",
        title=language.say("Failures"),
        heads=(language.say("Verdict"), language.say("Runs"), language.say("Reason")),
        rows=tuple(
            (language.say(group.words), ", ".join(group.runs), language.told(group.reason))
            for group in failure_groups(report)
        ),
        words=3,
    )
