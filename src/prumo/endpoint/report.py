"""What was found at a server, as a table for people and as a document for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.endpoint.outcome import Verdict

if TYPE_CHECKING:
    from rich.console import Console

    from prumo.endpoint.examination import Examination, Finding

STYLES = {Verdict.KEPT: "green", Verdict.BROKEN: "bold red", Verdict.NOT_CHECKED: "yellow"}


def print_examination(examination: Examination, console: Console) -> None:
    """A row per rule, then how many are kept, broken, not checked."""
    table = Table(
        title=Text(examination.target), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("rule", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("demand", overflow="fold")
    table.add_column("why", overflow="fold")
    for finding in examination.findings:
        outcome = finding.outcome
        table.add_row(
            finding.rule.name,
            Text(outcome.verdict, style=STYLES[outcome.verdict]),
            "" if outcome.measured is None else str(outcome.measured),
            Text(finding.rule.demanded(examination.limits)),
            Text.from_ansi(outcome.reason),
        )
    console.print(table)
    counts = ", ".join(f"{examination.count(verdict)} {verdict}" for verdict in Verdict)
    judgement = (
        "No rule was found broken"
        if examination.is_kept
        else "This server breaks rules of SageMaker"
    )
    console.print(Text(f"{judgement}: {counts}."))


def examination_document(examination: Examination) -> dict[str, Any]:
    """Everything that was found, for JSON."""
    return {
        "target": examination.target,
        "kept": examination.is_kept,
        "counts": {str(verdict): examination.count(verdict) for verdict in Verdict},
        "rules": [_rule_document(examination, finding) for finding in examination.findings],
    }


def _rule_document(examination: Examination, finding: Finding) -> dict[str, Any]:
    measured = finding.outcome.measured
    return {
        "name": finding.rule.name,
        "demand": finding.rule.demanded(examination.limits),
        "source": finding.rule.written(examination.limits),
        "verdict": str(finding.outcome.verdict),
        "reason": finding.outcome.reason,
        "measured": measured and {"value": measured.value, "unit": measured.unit},
    }
