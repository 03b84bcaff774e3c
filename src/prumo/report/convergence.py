"""How soon scenarios learn, as rows of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.message import Message, listed
from prumo.quantity import Estimate, Quantity
from prumo.report.label import SEPARATOR, levels_label, metric_title
from prumo.report.scenario_table import Cell, cell
from prumo.statistics.convergence import FEWEST_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.report.content import Report
    from prumo.report.language import Language
    from prumo.statistics.convergence import Convergence


def convergence_sentences(convergence: Convergence) -> list[Message]:
    """Who reaches the common loss first and last by each measure, who never does or is left out."""
    said = [*_ends(convergence)]
    if convergence.never:
        said.append(
            Message("Never down to that loss: {names}.", {"names": listed(convergence.never)})
        )
    if convergence.sometimes:
        said.append(
            Message(
                "Down to that loss in some runs only, and the means are of those: {names}.",
                {"names": listed(convergence.sometimes)},
            )
        )
    if convergence.short:
        said.append(
            Message(
                "Left out, since a run of fewer than {steps} steps tells too little: {names}.",
                {"steps": FEWEST_STEPS, "names": listed(convergence.short)},
            )
        )
    if convergence.silent:
        said.append(
            Message(
                "Left out, since no loss was reported: {names}.",
                {"names": listed(convergence.silent)},
            )
        )
    return said


def _ends(convergence: Convergence) -> Iterator[Message]:
    summary = convergence.summary
    for name in summary["metric"].unique(maintain_order=True):
        rows = summary.filter(pl.col("metric") == name).sort("mean", maintain_order=True)
        least, most = rows.row(0, named=True), rows.row(-1, named=True)
        yield Message(
            "{metric}: from {least} ({first}) to {most} ({last}).",
            {
                "metric": metric_title(name),
                "least": _told(least),
                "first": least["scenario"],
                "most": _told(most),
                "last": most["scenario"],
            },
        )


def _told(row: dict[str, Any]) -> Estimate | Quantity:
    if row["ci_low"] is None:
        return Quantity(row["mean"], row["unit"])
    return Estimate(row["mean"], row["ci_low"], row["ci_high"], row["unit"])


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
        heads=[language.told(metric_title(metric)) for metric in metrics],
        rows=rows,
        remarks=convergence_sentences(found),
    )


def _title(found: Convergence) -> Message:
    target = Quantity(found.target)
    if not found.task:
        return Message("Until a loss of {target}", {"target": target})
    task = SEPARATOR.join(map(str, found.task.values()))
    return Message("Until a loss of {target}: {task}", {"target": target, "task": task})
