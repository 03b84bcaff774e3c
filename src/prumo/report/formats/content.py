"""The tables of a report for readers: words and numbers as they stand on paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.message import Message
from prumo.report.figures import figures_of
from prumo.report.label import levels_label, metric_title
from prumo.report.scaling import scaling_table
from prumo.report.scenario_table import failure_groups
from prumo.report.sentence import sentences
from prumo.report.variation import source_label, variation_rows
from prumo.statistics.metric import Kind, metric_of

if TYPE_CHECKING:
    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results
    from prumo.statistics.variation import Variation


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
            str(source_label(row)),
            row.degrees_of_freedom,
            row.sum_of_squares,
            row.share,
            row.f,
            row.p_value,
        )
        for row in variation.rows
    ]


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
    tables += [_text_table_variation(variation, language) for variation in report.variations]
    tables.append(_failures(report, language))
    return [table for table in tables if table.rows]


def _metric(report: Report, metric: str, language: Language) -> TextTable:
    confidence = {"confidence": language.percent(report.confidence)}
    return TextTable(
        name=metric,
        title=language.told(metric_title(metric)),
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


def _text_table_variation(variation: Variation, language: Language) -> TextTable:
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


@dataclass(frozen=True)
class Telling:
    """The report of some results in a language; figures are drawn once for all formats."""

    results: Results
    report: Report
    language: Language

    @property
    def sentences(self) -> list[str]:
        """The result in a few sentences, with what it costs where that is known."""
        said = sentences(self.report)
        if self.report.cost is not None:
            said = [*said, *self.report.cost.sentences()]
        # What a machine is worth is part of both.
        return list(dict.fromkeys(map(self.language.say, said)))

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """What a reader must know, each with what to do about it."""
        say = self.language.say
        return [(say(warning.message), say(warning.advice)) for warning in self.report.warnings]

    @cached_property
    def frames(self) -> dict[str, pl.DataFrame]:
        """The tables for programs, by name."""
        return frames_of(self.report)

    @cached_property
    def tables(self) -> list[TextTable]:
        """The tables for readers."""
        return text_tables(self.report, self.language)

    @cached_property
    def figures(self) -> list[Figure]:
        """Every figure of the page, in its order."""
        return figures_of(self.results, self.report, self.language)
