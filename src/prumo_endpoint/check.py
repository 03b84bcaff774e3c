"""Check all rules on one server, from its start to its stop, and report what was found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from prumo.errors import InputError
from prumo.supervise.interruption import sigterm_as_interrupt
from prumo_endpoint.lifetime import (
    START_RULES,
    STOP_RULES,
    Start,
    watch_cold_start,
    watch_start,
    watch_stop,
)
from prumo_endpoint.request_rules import REQUEST_RULES
from prumo_endpoint.rule import Case, Verdict, undecided

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.console import Console

    from prumo.progress import Progress
    from prumo_endpoint.bodies import Body
    from prumo_endpoint.rule import Limits, Outcome, Rule
    from prumo_endpoint.targets import Server, Target

SERVING_RULES = (*START_RULES, *REQUEST_RULES)


@dataclass(frozen=True)
class Finding:
    """A rule and its outcome."""

    rule: Rule
    outcome: Outcome


@dataclass(frozen=True)
class Examination:
    """What was found at a server."""

    target: str
    limits: Limits
    findings: tuple[Finding, ...]

    @property
    def is_kept(self) -> bool:
        """Whether no rule was found broken."""
        return not self.count(Verdict.BROKEN)

    def count(self, verdict: Verdict) -> int:
        """How many rules have this verdict."""
        return sum(finding.outcome.verdict is verdict for finding in self.findings)


def examine(target: Target, body: Body, limits: Limits, progress: Progress) -> Examination:
    """Start the server if necessary, check every rule, and stop what was started."""
    if not 0 < len(body.content) <= limits.payload_bytes:
        raise InputError(
            f"a body must have at least a byte and at most {limits.payload_mb:g} MB, "
            f"and this one has {len(body.content)} bytes"
        )
    with sigterm_as_interrupt(), target.running() as server:
        case = Case(server, limits, body, _started(server, body, limits, progress))
        outcomes = _checked(SERVING_RULES, case, {}, progress)
        if server.process is not None and case.start is not None and case.start.is_ready:
            progress.show("waiting for the end after SIGTERM")
            case = replace(case, stop=watch_stop(server, server.process, body, limits))
        outcomes = _checked(STOP_RULES, case, outcomes, progress)
    findings = (Finding(rule, outcomes[rule.name]) for rule in (*SERVING_RULES, *STOP_RULES))
    return Examination(target.name, limits, tuple(findings))


def _started(server: Server, body: Body, limits: Limits, progress: Progress) -> Start | None:
    if server.instances is not None:
        progress.show("waiting for a cold start")
        return watch_cold_start(server, server.instances, body, limits)
    if server.process is None:
        return None
    if server.process.start_error:
        return Start()
    return watch_start(server, server.process, body, limits, progress)


def _checked(
    rules: Iterable[Rule], case: Case, known: Mapping[str, Outcome], progress: Progress
) -> dict[str, Outcome]:
    """The known outcomes and that of each rule, checked unless a rule that it needs blocks it."""
    outcomes = dict(known)
    for rule in rules:
        progress.show("checking the rules", rule.name)
        blocker = next((name for name in rule.needs if outcomes[name].blocks), None)
        outcomes[rule.name] = rule.check(case) if blocker is None else _blocked(blocker, outcomes)
    return outcomes


def _blocked(needed: str, outcomes: Mapping[str, Outcome]) -> Outcome:
    """The outcome of a rule that cannot be checked, naming the first rule that blocks it."""
    first = outcomes[needed].blocked_by or needed
    why = "is broken" if outcomes[first].verdict is Verdict.BROKEN else "could not be checked"
    return replace(undecided(f"the rule '{first}' {why}"), blocked_by=first)


STYLES = {Verdict.KEPT: "green", Verdict.BROKEN: "bold red", Verdict.NOT_CHECKED: "yellow"}


def print_examination(examination: Examination, console: Console) -> None:
    """Print a row per rule, then how many are kept, broken, not checked."""
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
        "source": finding.rule.published(examination.limits),
        "verdict": str(finding.outcome.verdict),
        "reason": finding.outcome.reason,
        "measured": measured and {"value": measured.value, "unit": measured.unit},
    }
