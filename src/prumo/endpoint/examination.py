"""All rules checked on one server, from its start to its stop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prumo.endpoint.lifetime.start import Start, watch_start
from prumo.endpoint.lifetime.stop import watch_stop
from prumo.endpoint.outcome import Verdict, undecided
from prumo.endpoint.rule import Case
from prumo.endpoint.rules import SERVING, STOPPING
from prumo.errors import InputError
from prumo.supervise.interruption import sigterm_as_interrupt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prumo.endpoint.exchange.body import Body
    from prumo.endpoint.limits import Limits
    from prumo.endpoint.outcome import Outcome
    from prumo.endpoint.rule import Rule
    from prumo.endpoint.targets import Server, Target
    from prumo.progress import Progress


@dataclass(frozen=True)
class Finding:
    """A rule and what came of it."""

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
    """Start the server if need be, check every rule, and end what was started."""
    if not 0 < len(body.content) <= limits.payload_bytes:
        raise InputError(
            f"a body must have at least a byte and at most {limits.payload_mb:g} MB, "
            f"and this one has {len(body.content)} bytes"
        )
    with sigterm_as_interrupt(), target.running() as server:
        case = Case(server, limits, body, _started(server, body, limits, progress))
        outcomes = _checked(SERVING, case, {}, progress)
        if server.process is not None and case.start is not None and case.start.is_ready:
            progress.show("waiting for the end after SIGTERM")
            case = replace(case, stop=watch_stop(server, server.process, body, limits))
        outcomes = _checked(STOPPING, case, outcomes, progress)
    findings = (Finding(rule, outcomes[rule.name]) for rule in (*SERVING, *STOPPING))
    return Examination(target.name, limits, tuple(findings))


def _started(server: Server, body: Body, limits: Limits, progress: Progress) -> Start | None:
    if server.process is None:
        return None
    if server.process.refusal:
        return Start()
    return watch_start(server, server.process, body, limits, progress)


def _checked(
    rules: Iterable[Rule], case: Case, known: Mapping[str, Outcome], progress: Progress
) -> dict[str, Outcome]:
    """What is known with the outcome of each rule, checked where nothing hinders it."""
    outcomes = dict(known)
    for rule in rules:
        progress.show("checking the rules", rule.name)
        hindrance = next((name for name in rule.needs if outcomes[name].hinders), None)
        outcomes[rule.name] = (
            rule.check(case) if hindrance is None else _hindered(hindrance, outcomes)
        )
    return outcomes


def _hindered(needed: str, outcomes: Mapping[str, Outcome]) -> Outcome:
    """The outcome of a rule that has to wait for the first that stands in its way."""
    first = outcomes[needed].hindered_by or needed
    why = "is broken" if outcomes[first].verdict is Verdict.BROKEN else "could not be checked"
    return replace(undecided(f"the rule '{first}' {why}"), hindered_by=first)
