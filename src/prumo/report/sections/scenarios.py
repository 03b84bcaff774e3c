"""Scenarios and their metrics: bars, tables, every run as a point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.message import Message
from prumo.quantity import MISSING
from prumo.report.figures.curves import usage_figures
from prumo.report.figures.profiles import utilisation_figures
from prumo.report.figures.scenarios import (
    bars_figures,
    boxes_figures,
    has_many_runs,
    scenarios_figures,
)
from prumo.report.label import levels_label, metric_title
from prumo.report.sections.section import FigureSection, PageSection, Section, TextTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from rich.console import Console

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results

    Row = dict[str, Any]


def cell(row: Row | None, language: Language) -> tuple[str, str]:
    """The mean in a row of a summary and its interval; a dash where there is no row."""
    if row is None:
        return MISSING, ""
    scale = language.scale(row["mean"], row["unit"], row["metric"])
    if row["ci_low"] is None:
        return scale.text(row["mean"]), language.say("1 run, no interval")
    return scale.text(row["mean"]), scale.interval(row["ci_low"], row["ci_high"])


class BarsSection(FigureSection):
    """The means of the main metrics."""

    name = "bars"

    def figures(self, language: Language, /) -> list[Figure]:
        """Bars start at zero, so they can only show what is never negative."""
        report = self.report
        metrics = [
            metric
            for metric in report.main_metrics
            if min(report.metric_summary(metric)["mean"].to_list()) >= 0
        ]
        if not metrics:
            return []
        return bars_figures(report.summary, report.varying, metrics, report.confidence, language)


class ScenariosSection(Section):
    """The means of the selected metrics in every scenario."""

    name = "scenarios"

    def rows(self, language: Language) -> list[dict[str, Any]]:
        """Every scenario with the means of the selected metrics."""
        report = self.report
        means = {
            (row["scenario"], row["metric"]): row for row in report.summary.iter_rows(named=True)
        }
        rows = []
        for (name,), runs in report.runs.group_by("scenario", maintain_order=True):
            levels = runs.row(0, named=True)
            rows.append(
                {
                    "name": name,
                    "levels": [levels_label(levels, [factor]) for factor in report.varying],
                    "finished": (runs["verdict"] == "finished").sum(),
                    "ended": runs.height,
                    "cells": [cell(means.get((name, m)), language) for m in report.selected],
                }
            )
        return rows

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """One table for all selected metrics."""
        report = self.report
        if not report.selected:
            return None
        values = {
            "factors": report.varying,
            "metrics": [language.told(metric_title(name)) for name in report.selected],
            "scenarios": self.rows(language),
        }
        return PageSection(self.name, language.say("Scenarios"), "scenarios", values)

    def print(self, console: Console, language: Language, /) -> None:
        """A table for each selected metric."""
        for metric in self.report.selected:
            console.print()
            console.print(self._terminal_table(metric, language))

    def document(self, _language: Language, /) -> dict[str, Any]:
        """Every statistic of every metric."""
        return {"summary": self.report.summary.rows(named=True)}

    def tables(self, language: Language, /) -> list[TextTable]:
        """A table for each selected metric."""
        return [self._text_table(metric, language) for metric in self.report.selected]

    def frames(self) -> dict[str, pl.DataFrame]:
        """All runs, and their summary."""
        return {"runs": self.report.runs, "summary": self.report.summary}

    def _terminal_table(self, metric: str, language: Language) -> Table:
        report = self.report
        name = language.told(metric_title(metric))
        title = Text(f"{name} ({metric})" if name != metric else metric)
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column(language.say("scenario"))
        table.add_column(language.say("levels"), overflow="fold")
        interval = Message("{confidence:g} % interval", {"confidence": 100 * report.confidence})
        mean, deviation, median = Message("mean"), Message("std. dev."), Message("median")
        for heading in (Message("n"), mean, deviation, interval, median):
            table.add_column(language.say(heading), justify="right", no_wrap=True)
        for row in report.metric_summary(metric).iter_rows(named=True):
            cells = [levels_label(row, report.varying), *_statistics(row, language)]
            if row["ci_low"] is None:
                cells[-2] = language.say("single run")
            table.add_row(row["scenario"], *map(Text, cells))
        return table

    def _text_table(self, metric: str, language: Language) -> TextTable:
        report = self.report
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


class RunsSection(FigureSection):
    """Every run of the main metric, as points or, where they are many, as boxes."""

    name = "runs"

    def figures(self, language: Language, /) -> list[Figure]:
        """Points or boxes."""
        report, metric = self.report, self.report.main_metric
        if metric is None:
            return []
        if has_many_runs(report.finished, metric):
            return boxes_figures(report.finished, report.varying, metric, language)
        return scenarios_figures(
            report.finished,
            report.metric_summary(metric),
            report.varying,
            metric,
            report.confidence,
            language,
        )


class UtilisationSection(FigureSection):
    """How much of the machine scenarios used on average."""

    name = "utilisation"

    def figures(self, language: Language, /) -> list[Figure]:
        """A bar for each resource and scenario."""
        return utilisation_figures(self.report.summary, self.report.varying, language)


@dataclass(frozen=True)
class UsageSection(FigureSection):
    """How much of the machine scenarios used over time."""

    name = "usage"
    results: Results

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The samples of the runs, which are read when they are drawn."""
        return cls(report, results)

    def figures(self, language: Language, /) -> list[Figure]:
        """A panel for each scenario."""
        report = self.report
        over_time = self.results.usage_over_time()
        return usage_figures(over_time, report.finished, report.varying, language)


class MetricsSection(Section):
    """A table per metric, the selected ones first."""

    name = "metrics"

    def page(self, _figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """Tables that can be folded."""
        report = self.report
        names = report.summary["metric"].unique(maintain_order=True).to_list()
        ordered = [*report.selected, *(name for name in names if name not in report.selected)]
        if not ordered:
            return None
        tables = [
            (language.told(metric_title(name)), name, list(self._rows(name, language)))
            for name in ordered
        ]
        values = {"tables": tables, "missing": MISSING}
        return PageSection(self.name, language.say("All metrics"), "metrics", values)

    def _rows(self, metric: str, language: Language) -> Iterator[tuple[str, str, list[str]]]:
        for row in self.report.metric_summary(metric).iter_rows(named=True):
            scale = language.scale(row["mean"], row["unit"], row["metric"])
            ends = (scale.number(row["minimum"]), scale.number(row["maximum"]))
            numbers = [*_statistics(row, language), *ends]
            yield row["scenario"], levels_label(row, self.report.varying), numbers


def _statistics(row: Row, language: Language) -> tuple[str, str, str, str, str]:
    """The number of runs, mean, standard deviation, interval and median in one unit."""
    scale = language.scale(row["mean"], row["unit"], row["metric"])
    return (
        str(row["n"]),
        scale.text(row["mean"]),
        scale.number(row["standard_deviation"]),
        scale.interval(row["ci_low"], row["ci_high"]),
        scale.number(row["median"]),
    )
