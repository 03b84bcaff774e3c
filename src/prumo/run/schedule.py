"""Which run comes next. Pure: it sees outcomes, never a clock or a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from prumo.results.record import Verdict
from prumo.study import Adaptive, Run, ordered_runs, round_runs, scenario_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from prumo.study import Order, Scenario


BATCH = "batch_size"


@dataclass(frozen=True)
class Outcome:
    """What the schedule needs to know of a run that ended."""

    verdict: Verdict
    metrics: Mapping[str, float] = field(default_factory=dict)


def unsettled(verdict: Verdict, *, retry_failed: bool) -> bool:
    """Whether a run with this verdict from an earlier execution is to be run again."""
    if verdict in {Verdict.UNAVAILABLE, Verdict.INTERRUPTED}:
        return True
    return retry_failed and verdict.is_failure


class Schedule:
    """Yields what to do next, looking at the outcomes recorded so far."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        replications: int | Adaptive,
        order: Order,
        outcomes: Mapping[str, Outcome],
    ) -> None:
        self._scenarios = scenarios
        self._replications = replications
        self._order = order
        self._outcomes: dict[str, Outcome] = {}
        self._misfits: list[Scenario] = []
        known = {scenario.name: scenario for scenario in scenarios}
        for name, outcome in outcomes.items():
            self._note(name, outcome, known.get(scenario_name(name)))

    def record(self, run: Run, outcome: Outcome) -> None:
        """Take note of how a run ended."""
        self._note(run.name, outcome, run.scenario)

    def steps(self) -> Iterator[tuple[Run, str]]:
        """The next run and why it is not worth trying, empty where it is; record its outcome."""
        for runs in self._rounds():
            for run in runs:
                if run.name not in self._outcomes:
                    yield run, self._not_worth_trying(run)

    def pending(self) -> list[Run]:
        """The runs known to be missing now; an adaptive study may add more."""
        for runs in self._rounds():
            if missing := [run for run in runs if run.name not in self._outcomes]:
                return missing
        return []

    def unsure(self) -> list[Scenario]:
        """The scenarios of an adaptive study that had all their runs and missed the goal."""
        goal = self._replications
        if not isinstance(goal, Adaptive):
            return []
        return [
            scenario
            for scenario in self._scenarios
            if Run(scenario, goal.maximum).name in self._outcomes
            and self._is_unsure(scenario, goal, goal.maximum + 1)
        ]

    def _note(self, run_name: str, outcome: Outcome, scenario: Scenario | None) -> None:
        self._outcomes[run_name] = outcome
        if outcome.verdict is Verdict.OUT_OF_MEMORY and scenario is not None:
            self._misfits.append(scenario)

    def _rounds(self) -> Iterator[Iterable[Run]]:
        if not isinstance(self._replications, Adaptive):
            yield ordered_runs(self._scenarios, self._replications, self._order)
            return
        goal = self._replications
        yield ordered_runs(self._scenarios, goal.minimum, self._order)
        for replication in range(goal.minimum + 1, goal.maximum + 1):
            unsure = [s for s in self._scenarios if self._is_unsure(s, goal, replication)]
            if not unsure:
                return
            yield round_runs(unsure, replication, self._order)

    def _is_unsure(self, scenario: Scenario, goal: Adaptive, replication: int) -> bool:
        # SciPy takes longer to import than all the rest, and only adaptive studies need it.
        from prumo.statistics.interval import relative_half_width_percent  # noqa: PLC0415

        outcomes = [
            self._outcomes.get(run.name)
            for run in ordered_runs([scenario], replication - 1, self._order)
        ]
        values = [
            outcome.metrics[goal.metric]
            for outcome in outcomes
            if outcome and outcome.verdict is Verdict.FINISHED and goal.metric in outcome.metrics
        ]
        if not values:
            # Every run failed, or none reports this metric: more of them would not help.
            return False
        width = relative_half_width_percent(values, goal.confidence)
        return width is None or width > goal.half_width_percent

    def _not_worth_trying(self, run: Run) -> str:
        batch = run.scenario.parameters.get(BATCH)
        if not isinstance(batch, int):
            return ""
        for other in self._misfits:
            tried = other.parameters.get(BATCH)
            same_family = {**other.parameters, BATCH: batch} == run.scenario.parameters
            if isinstance(tried, int) and tried <= batch and same_family:
                return f"batch size {tried} did not fit in memory ({other.name})"
        return ""


class Remaining:
    """The runs that are left, and a guess at their time: the mean of their scenario, or of all."""

    def __init__(self, pending: Iterable[Run], seconds: Mapping[str, Sequence[float]]) -> None:
        self._pending = {run.name: run for run in pending}
        self._seconds = {scenario: list(values) for scenario, values in seconds.items()}
        self.done = 0

    @property
    def total(self) -> int:
        """Runs ended and left, as far as is known now."""
        return self.done + len(self._pending)

    def started(self, run: Run) -> None:
        """Count a run that an adaptive study added."""
        self._pending.setdefault(run.name, run)

    def ended(self, run_name: str, scenario: str, wall_seconds: float | None) -> None:
        """Count a run as ended; a run that was not started teaches nothing about time."""
        self._pending.pop(run_name, None)
        self.done += 1
        if wall_seconds is not None:
            self._seconds.setdefault(scenario, []).append(wall_seconds)

    def seconds(self) -> float | None:
        """The expected time of what is left; None before the first run ended."""
        known = {scenario: fmean(values) for scenario, values in self._seconds.items() if values}
        if not known:
            return None
        overall = fmean(known.values())
        return sum(known.get(run.scenario.name, overall) for run in self._pending.values())
