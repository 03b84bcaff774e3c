"""Scenarios and their figures as rows of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prumo.message import Message
from prumo.quantity import MISSING
from prumo.report.label import levels_label, metric_title
from prumo.report.sentence import verdict_words

if TYPE_CHECKING:
    from prumo.report.content import Report
    from prumo.report.language import Language


@dataclass(frozen=True)
class Cell:
    """A mean with its interval, as text."""

    mean: str
    interval: str


@dataclass(frozen=True)
class ScenarioRow:
    """One scenario in the first table."""

    name: str
    levels: list[str]
    finished: int
    ended: int
    cells: list[Cell]


@dataclass(frozen=True)
class MetricTable:
    """Every statistic of one metric."""

    title: str
    name: str
    rows: list[dict[str, str]]


def scenario_rows(report: Report, language: Language) -> list[ScenarioRow]:
    """Every scenario with the means of the selected metrics."""
    means = {(row["scenario"], row["metric"]): row for row in report.summary.iter_rows(named=True)}
    rows = []
    for (name,), runs in report.runs.group_by("scenario", maintain_order=True):
        scenario = str(name)
        levels = runs.row(0, named=True)
        rows.append(
            ScenarioRow(
                name=scenario,
                levels=[levels_label(levels, [factor]) for factor in report.varying],
                finished=int((runs["verdict"] == "finished").sum()),
                ended=runs.height,
                cells=[cell(means.get((scenario, metric)), language) for metric in report.selected],
            )
        )
    return rows


def metric_tables(report: Report, language: Language) -> list[MetricTable]:
    """A table per metric, the selected ones first."""
    names = report.summary["metric"].unique(maintain_order=True).to_list()
    ordered = [*report.selected, *(name for name in names if name not in report.selected)]
    return [
        MetricTable(
            language.told(metric_title(name)),
            name,
            [
                _statistics(row, report, language)
                for row in report.metric_summary(name).iter_rows(named=True)
            ],
        )
        for name in ordered
    ]


def cell(row: dict[str, Any] | None, language: Language) -> Cell:
    """One row of a summary in a cell; a dash where there is none."""
    if row is None:
        return Cell(MISSING, "")
    scale = language.scale(row["mean"], row["unit"])
    if row["ci_low"] is None:
        return Cell(scale.text(row["mean"]), language.say("1 run, no interval"))
    return Cell(scale.text(row["mean"]), scale.interval(row["ci_low"], row["ci_high"]))


def _statistics(row: dict[str, Any], report: Report, language: Language) -> dict[str, str]:
    scale = language.scale(row["mean"], row["unit"])
    return {
        "scenario": row["scenario"],
        "levels": levels_label(row, report.varying),
        "n": str(row["n"]),
        "mean": scale.text(row["mean"]),
        "deviation": scale.number(row["standard_deviation"]),
        "interval": scale.interval(row["ci_low"], row["ci_high"]),
        "median": scale.number(row["median"]),
        "minimum": scale.number(row["minimum"]),
        "maximum": scale.number(row["maximum"]),
    }


@dataclass(frozen=True)
class FailureGroup:
    """The runs that ended in the same way for the same reason."""

    verdict: str
    reason: Message | str
    runs: tuple[str, ...]

    @property
    def words(self) -> Message:
        """The verdict in words."""
        return verdict_words(self.verdict)


def failure_groups(report: Report) -> list[FailureGroup]:
    """Every failed run once, ordered by verdict, then reason."""
    groups = report.failures.group_by("verdict", "reason", maintain_order=True).agg("run")
    return [
        FailureGroup(verdict, reason or Message("no reason was recorded"), tuple(runs))
        for verdict, reason, runs in groups.sort("verdict", maintain_order=True).rows()
    ]
