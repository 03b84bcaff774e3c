"""Carry out a study in its results folder: what is missing, one run after the other."""

from __future__ import annotations

import platform
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import InputError, UnequalError, did_you_mean
from prumo.money.study_prices import keep_prices
from prumo.plugins import EXECUTORS
from prumo.results.folder import ResultsFolder
from prumo.results.record import Verdict, trained_architectures
from prumo.run import DEFAULT_EXECUTOR
from prumo.run.events import (
    ListenerProgress,
    Remark,
    RunEnded,
    RunStarted,
    StudyEnded,
    StudyStarted,
)
from prumo.run.executors import Executor
from prumo.run.preflight import NOTHING_TO_SPEND, Spending, require_consent
from prumo.run.schedule import Outcome, Schedule, unsettled
from prumo.study import Adaptive, Imported, Rule, fingerprint
from prumo.study.network import compared_frameworks
from prumo.supervise.interruption import sigterm_as_interrupt
from prumo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prumo.results.record import RunRecord
    from prumo.run.events import Listener
    from prumo.study import Run, Scenario, Study
    from prumo.study.network import Frameworks


@dataclass(frozen=True)
class Selection:
    """Which part of a study to carry out."""

    scenarios: tuple[str, ...] = ()
    """Names such as C3; all when empty."""
    only: str = ""
    """A rule that a scenario must satisfy."""
    replications: int | None = None
    """Instead of the study's own number."""
    retry_failed: bool = False


class Execution:
    """One study in one results folder: what is done, what is missing, what to do next."""

    def __init__(
        self,
        study: Study,
        folder: ResultsFolder,
        selection: Selection,
        expected_seconds: Mapping[str, float] | None = None,
    ) -> None:
        self._study = study
        self._expected_seconds = expected_seconds or {}
        self._folder = folder
        self._selection = selection
        self._scenarios = select_scenarios(study, selection)
        self._replications: int | Adaptive = selection.replications or study.replications
        runs = folder.runs()
        self._unreadable = runs.unreadable
        self.records = runs.records
        """The runs in the folder that have a verdict, of selected scenarios or not."""
        self._check_same_study()
        self.schedule = Schedule(
            self._scenarios, self._replications, study.order, self._settled_outcomes()
        )

    def carry_out(self, executor: Executor, listener: Listener) -> StudyEnded:
        """Start what is missing until nothing is left or the user stops."""
        self._write_study()
        for name in self._unreadable:
            target = self._folder.set_aside(name)
            listener(
                Remark(f"{name} had an unreadable record; it is kept in {target} and run again")
            )
        listener(self._beginning())
        try:
            interrupted = self._walk(executor, listener)
        except KeyboardInterrupt:
            interrupted = True
        for remark in self._remarks_on_goal():
            listener(Remark(remark))
        return self.end(listener, interrupted=interrupted)

    def end(self, listener: Listener, *, interrupted: bool) -> StudyEnded:
        """Report how it stands, also when the user stopped before anything was started."""
        wanted = {scenario.name for scenario in self._scenarios}
        verdicts = Counter(r.verdict.value for r in self.records.values() if r.scenario in wanted)
        ended = StudyEnded(self._folder.path, dict(verdicts), interrupted)
        listener(ended)
        return ended

    def _walk(self, executor: Executor, listener: Listener) -> bool:
        """Do one step after the other; whether the user stopped in between."""
        for run, why_not in self.schedule.steps():
            if (earlier := self.records.get(run.name)) and earlier.verdict.is_failure:
                self._folder.set_aside(run.name)
            order = 1 + max((record.order for record in self.records.values()), default=0)
            if why_not:
                record = executor.skip(run, order, why_not)
            else:
                listener(RunStarted(run))
                record = executor.execute(run, order)
            self.records[record.run] = record
            self.schedule.record(run, _outcome(record))
            listener(RunEnded(record))
            if record.verdict is Verdict.INTERRUPTED:
                return True
        return False

    def _beginning(self) -> StudyStarted:
        expected = {name: [seconds] for name, seconds in self._expected_seconds.items()}
        seconds: dict[str, list[float]] = {}
        for record in self.records.values():
            if record.verdict is Verdict.FINISHED and record.wall_seconds is not None:
                seconds.setdefault(record.scenario, []).append(record.wall_seconds)
        return StudyStarted(
            study=self._study.name,
            results=self._folder.path,
            kept=len(self._settled_outcomes()),
            pending=tuple(self.schedule.pending()),
            seconds=expected | seconds,
        )

    def _check_same_study(self) -> None:
        """Refuse to mix runs of two different studies under the same names."""
        numbers = {scenario.name: scenario for scenario in self._scenarios}
        for record in self.records.values():
            scenario = numbers.get(record.scenario)
            if scenario and record.fingerprint != fingerprint(self._study, scenario):
                raise InputError(
                    f"{self._folder.path} holds runs of another version of this study: "
                    f"{record.scenario} was {_difference(record.parameters, scenario.parameters)}. "
                    "Give another folder with --results, or take the change in the study back."
                )

    def _settled_outcomes(self) -> dict[str, Outcome]:
        return {
            name: _outcome(record)
            for name, record in self.records.items()
            if not unsettled(record.verdict, retry_failed=self._selection.retry_failed)
        }

    def _write_study(self) -> None:
        self._folder.write_study(
            self._study.text,
            {
                "study": self._study.name,
                "scenarios": len(self._scenarios),
                "order": self._study.order.kind,
                "seed": self._study.order.seed,
                "prumo": __version__,
                "python": platform.python_version(),
                "networks": {name: own.layers for name, own in self._study.own_networks().items()},
            },
        )

    def _remarks_on_goal(self) -> Iterator[str]:
        """Say so when an adaptive study did not reach what it was after."""
        goal = self._replications
        if not isinstance(goal, Adaptive):
            return
        if missed := self.schedule.unsure():
            yield (
                f"after {goal.maximum} replications, {goal.metric} is still not known within "
                f"{goal.half_width_percent:g} % in: {', '.join(s.name for s in missed)}"
            )
        outcomes = map(_outcome, self.records.values())
        reported = [set(o.metrics) for o in outcomes if o.verdict is Verdict.FINISHED]
        if reported and goal.metric not in (known := set().union(*reported)):
            yield (
                f"no run reports '{goal.metric}', so every scenario stopped at its minimum of "
                f"{goal.minimum} replications; {did_you_mean(goal.metric, known)}"
            )


def select_scenarios(study: Study, selection: Selection) -> list[Scenario]:
    """The study's scenarios that the selection names, all of them without one."""
    rule = Rule.parse(selection.only, study) if selection.only else None
    scenarios = [
        scenario
        for scenario in study.scenarios()
        if rule is None or rule.holds(scenario.parameters)
    ]
    if selection.scenarios:
        known = {scenario.name for scenario in scenarios}
        for name in selection.scenarios:
            if name not in known:
                raise InputError(f"no scenario {name} here; {did_you_mean(name, known)}")
        scenarios = [s for s in scenarios if s.name in set(selection.scenarios)]
    if not scenarios:
        raise InputError(f"no scenario of {study.name} satisfies {selection.only!r}")
    return scenarios


def _outcome(record: RunRecord) -> Outcome:
    wall = {} if record.wall_seconds is None else {"wall_seconds": record.wall_seconds}
    return Outcome(record.verdict, wall | record.metrics)


def _difference(was: Mapping[str, object], now: Mapping[str, object]) -> str:
    for name in [*was, *now]:
        if was.get(name) != now.get(name):
            return f"{name}={was.get(name)} and is now {name}={now.get(name)}"
    return "run with another workload or under other conditions"


EVERYTHING = Selection()

UNCHECKED = (
    "NOT CHECKED: nothing proves that the frameworks of this study train the same networks. "
    "`prumo check` does it."
)
UNEQUAL = (
    "the frameworks of this study do not train the same networks, so comparing them would mean "
    "nothing. `prumo run --no-check` measures them all the same."
)


def default_results(study: Study) -> Path:
    """Where a study's results go when nothing else is said."""
    return Path("results") / study.name


def run_study(  # noqa: PLR0913 (each is an option of its own)
    study: Study,
    results: Path,
    listener: Listener,
    selection: Selection = EVERYTHING,
    *,
    check: bool = True,
    executor_name: str = DEFAULT_EXECUTOR,
    expected_seconds: Mapping[str, float] | None = None,
    spending: Spending = NOTHING_TO_SPEND,
) -> StudyEnded:
    """Run what is missing of a study into a results folder.

    Where frameworks are compared, their networks are first proven equal, unless `check` is off.
    For a scenario without an earlier run, `expected_seconds` is the first guess of its duration.
    Runs that cost money start only as far as `spending` allows.
    """
    _refuse_imported(study)
    kind = EXECUTORS.load_class(executor_name, Executor)  # type: ignore[type-abstract]
    folder = ResultsFolder(results.absolute())
    folder.create()
    with folder.locked(), sigterm_as_interrupt():
        execution = Execution(study, folder, selection, expected_seconds)
        for remark in keep_prices(study, results):
            listener(Remark(remark))
        with closing(kind(study, folder, listener)) as executor:
            try:
                if pending := execution.schedule.pending():
                    # The data first: wrong files are reported before an environment is made.
                    executor.prepare(pending)
                    preflight = executor.preflight(pending, spending.max_cost_usd)
                    require_consent(preflight, spending, listener)
                    trained = trained_architectures(execution.records.values())
                    wanted = compared_frameworks(executor.architectures(pending), trained)
                    if wanted and check:
                        _require_equality(study, wanted, folder.path, listener)
                    elif wanted:
                        listener(Remark(UNCHECKED))
            except KeyboardInterrupt:
                return execution.end(listener, interrupted=True)
            return execution.carry_out(executor, listener)


def missing_runs(study: Study, results: Path, selection: Selection = EVERYTHING) -> list[Run]:
    """What `run_study` would start, without starting or writing anything."""
    _refuse_imported(study)
    folder = ResultsFolder(results.absolute())
    return Execution(study, folder, selection).schedule.pending()


def _refuse_imported(study: Study) -> None:
    if isinstance(study.workload, Imported):
        raise InputError(
            f"the runs of {study.name} were imported from elsewhere: there is nothing to start. "
            "`prumo report` and `prumo audit` read them."
        )


def _require_equality(study: Study, wanted: Frameworks, results: Path, listener: Listener) -> None:
    """Stop where frameworks differ that these runs compare, also with earlier ones."""
    # NumPy is slow to import, and only comparisons need it.
    from prumo.run.equality import check_equality  # noqa: PLC0415

    equality = check_equality(study, wanted, results, ListenerProgress(listener))
    differences = [
        f"{network.architecture.title}: {row.framework}: {finding}"
        for network in equality.networks
        for row in network.differences
        if row.framework in wanted[network.architecture]
        for finding in row.findings
    ]
    if differences:
        raise UnequalError("\n".join([UNEQUAL, *differences]))
