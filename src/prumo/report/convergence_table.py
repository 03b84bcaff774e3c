"""How soon scenarios learn, as rows of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prumo.analyse.convergence_sentence import convergence_sentences
from prumo.analyse.metric import metric_of
from prumo.message import Message
from prumo.quantity import Quantity
from prumo.report.label import SEPARATOR, levels_label
from prumo.report.scenario_table import Cell, cell

if TYPE_CHECKING:
    from prumo.analyse.convergence import Convergence
    from prumo.report.content import Report
    from prumo.report.language import Language


@dataclass(frozen=True)
class ConvergenceRow:
    """When one scenario reached the loss."""

    name: str
    levels: str
    cells: list[Cell]


@dataclass(frozen=True)
class ConvergenceTable:
    """The scenarios that learn one task."""

    title: Message
    heads: list[str]
    rows: list[ConvergenceRow]
    remarks: list[Message]


def convergence_tables(report: Report, language: Language) -> list[ConvergenceTable]:
    """A table for every task that several scenarios learn."""
    return [_table(found, report, language) for found in report.convergences]


def convergence_document(found: Convergence) -> dict[str, Any]:
    """The same as plain values, for programs."""
    return {
        "task": dict(found.task),
        "target": found.target,
        "summary": found.summary.rows(named=True),
        "never": list(found.never),
        "sometimes": list(found.sometimes),
        "short": list(found.short),
        "silent": list(found.silent),
    }


def _table(found: Convergence, report: Report, language: Language) -> ConvergenceTable:
    metrics = found.summary["metric"].unique(maintain_order=True).to_list()
    rows = []
    for (scenario,), group in found.summary.group_by("scenario", maintain_order=True):
        means = {row["metric"]: row for row in group.iter_rows(named=True)}
        levels = levels_label(next(iter(means.values())), report.varying)
        cells = [cell(means.get(metric), language) for metric in metrics]
        rows.append(ConvergenceRow(str(scenario), levels, cells))
    return ConvergenceTable(
        title=_title(found),
        heads=[language.told(metric_of(metric).title) for metric in metrics],
        rows=rows,
        remarks=convergence_sentences(found),
    )


def _title(found: Convergence) -> Message:
    target = Quantity(found.target)
    if not found.task:
        return Message("Until a loss of {target}", {"target": target})
    task = SEPARATOR.join(map(str, found.task.values()))
    return Message("Until a loss of {target}: {task}", {"target": target, "task": task})
