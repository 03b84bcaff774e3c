"""A short trial of some scenarios, run for real in a folder that is then removed."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import ceil
from pathlib import Path
from time import monotonic

from prumo.forecast.observation import BACKWARD, Kind, Observation, Subject, observation_of
from prumo.results.folder import ResultsFolder
from prumo.results.record import RunRecord, Verdict
from prumo.run.events import Activity, Listener
from prumo.run.executors.local import LocalExecutor
from prumo.study import Level, Run, Scenario, Study, Training
from prumo.supervise.interruption import sigterm_as_interrupt
from prumo_worker.data import CATALOG

PER_KIND = 4
"""Probes of each framework on each machine: enough to tell a cost per step from one per image."""
MOST = 12
WEIGHTS = (1, 100, 10_000)
"""Of a pair of levels, of one level, and of a kind that nothing was probed of."""

PROBE_SECONDS = 180.0
"""What all probes together may take."""
LEAST_STEPS, MOST_STEPS = 4, 32
ENOUGH_FLOPS = 2e10
"""Of the timed steps of a probe: a good part of a second on a few cores."""
WARMUP_STEPS = 3
LEAST_SECONDS = 10.0
"""A probe is not begun with less time left than this."""


def probe(
    study: Study,
    subjects: Sequence[Subject],
    listener: Listener,
    budget_seconds: float = PROBE_SECONDS,
) -> Probe:
    """Run a few steps of each subject, and the last of each kind once more, within a time.

    Raises:
        KeyboardInterrupt: The user stopped it; nothing is left behind.
    """
    scenarios = {scenario.name: scenario for scenario in study.scenarios()}
    trial = _Trial(study, budget_seconds, listener)
    again = {subject.kind: subject for subject in subjects}
    with tempfile.TemporaryDirectory(prefix="prumo-probe-") as folder, sigterm_as_interrupt():
        for replication, round_ in enumerate((subjects, list(again.values())), start=1):
            for subject in round_:
                scenario = _shortened(study, scenarios[subject.scenario], subject)
                trial.attempt(subject, Run(scenario, replication), Path(folder))
    return replace(trial.found, seconds=monotonic() - trial.began)


class _Trial:
    """Probes one after the other, as long as there is time."""

    def __init__(self, study: Study, budget_seconds: float, listener: Listener) -> None:
        self._study = study
        self._listener = listener
        self._budget_seconds = budget_seconds
        self.began = monotonic()
        self.found = Probe()
        self._paces: dict[Kind, float] = {}
        """Seconds of a step by its size, in the quickest probe so far."""

    def attempt(self, subject: Subject, run: Run, folder: Path) -> None:
        """Run one probe, unless it is known not to work or not to fit in the time."""
        if subject.kind in self.found.unavailable or subject.scenario in self.found.left_out:
            return
        left_seconds = self._budget_seconds - (monotonic() - self.began)
        step_seconds = self._paces.get(subject.kind, 0.0) * size_of(subject)
        expected_seconds = (LEAST_STEPS + WARMUP_STEPS) * step_seconds
        if left_seconds < max(LEAST_SECONDS, expected_seconds):
            self.found.left_out[subject.scenario] = "it did not fit in the time of the probe"
            return
        levels = " ".join(f"{name}={level}" for name, level in subject.levels.items())
        self._listener(Activity(f"probing {run.name}  {levels}", f"{left_seconds:.0f} s left"))
        record = self._measured(run, folder, left_seconds)
        if record.verdict is Verdict.INTERRUPTED:
            raise KeyboardInterrupt
        self._note(subject, record)

    def _measured(self, run: Run, folder: Path, left_seconds: float) -> RunRecord:
        measure = self._study.measure
        settings = {
            "timeout_seconds": min(left_seconds, measure.timeout_seconds or left_seconds),
            "warmup_steps": min(WARMUP_STEPS, measure.warmup_steps),
            "profile": False,
        }
        small = _without_files(self._study).model_copy(
            update={"measure": measure.model_copy(update=settings)}
        )
        results = ResultsFolder(folder)
        results.create()
        with closing(LocalExecutor(small, results, self._listener)) as executor:
            executor.prepare([run])
            return executor.execute(run, len(self.found.observations) + 1)

    def _note(self, subject: Subject, record: RunRecord) -> None:
        observation = observation_of(record, self._study)
        if observation is None and record.verdict is Verdict.UNAVAILABLE:
            self.found.unavailable[subject.kind] = record.reason
        elif observation is None:
            self.found.left_out[subject.scenario] = record.reason or record.verdict.value
        else:
            self.found.observations.append(replace(observation, kind=subject.kind))
            self.found.probed.append(subject.scenario)
            if observation.work and observation.train_seconds:
                step_seconds = observation.train_seconds / observation.work.steps
                pace = step_seconds / size_of(subject)
                self._paces[subject.kind] = min(pace, self._paces.get(subject.kind, pace))


def _shortened(study: Study, scenario: Scenario, subject: Subject) -> Scenario:
    """The scenario with a few steps of one epoch; a program is run as it is."""
    if subject.work is None:
        return scenario
    parameters = dict(scenario.parameters)
    batch_size = int(parameters["batch_size"])
    wanted = ENOUGH_FLOPS / ((1 + BACKWARD) * subject.work.flops * batch_size)
    images = batch_size * max(LEAST_STEPS, min(MOST_STEPS, ceil(wanted)))
    dataset = str(parameters["dataset"])
    if given := parameters.get("images"):
        images = min(images, int(given))
    elif dataset in CATALOG and dataset not in study.data_paths():
        images = min(images, CATALOG[dataset].images)
    return replace(scenario, parameters=parameters | {"images": images, "epochs": 1})


def _without_files(study: Study) -> Study:
    """The study with generated images for known data sets: their time is the same."""
    if not isinstance(study.workload, Training):
        return study
    own = {name: path for name, path in study.workload.data.items() if name not in CATALOG}
    return study.model_copy(update={"workload": study.workload.model_copy(update={"data": own})})


def chosen_for_probe(subjects: Sequence[Subject], most: int | None = None) -> list[Subject]:
    """The subjects to probe, the smallest work first.

    Each next one is that with the most that was not seen yet: kinds first, then levels (of numbers
    only the least and the most), then pairs of levels; of equals the largest, which most of the
    study's time will go into.
    """
    ends = _ends(subjects)
    kinds = {subject.kind for subject in subjects}
    limit = most if most is not None else max(len(kinds), min(MOST, PER_KIND * len(kinds)))
    by_size = sorted(subjects, key=size_of, reverse=True)
    candidates = [(subject, _aspects(subject, ends)) for subject in by_size]
    seen: set[Hashable] = set()
    chosen: list[Subject] = []

    def novelty(candidate: tuple[Subject, dict[Hashable, int]]) -> int:
        return sum(weight for aspect, weight in candidate[1].items() if aspect not in seen)

    while candidates and len(chosen) < limit and novelty(best := max(candidates, key=novelty)):
        chosen.append(best[0])
        candidates.remove(best)
        seen.update(best[1])
    return sorted(chosen, key=size_of)


def size_of(subject: Subject) -> float:
    """The size of one step, by which probes are ordered; 0 where it is not known."""
    return subject.work.flops * subject.work.images_per_step if subject.work else 0.0


def _aspects(subject: Subject, ends: dict[str, set[Level]]) -> dict[Hashable, int]:
    kind: Kind = subject.kind
    shown = [(name, level) for name, level in subject.levels.items() if level in ends[name]]
    pair, single, whole = WEIGHTS
    aspects: dict[Hashable, int] = {(kind, two): pair for two in combinations(shown, 2)}
    aspects |= {(kind, one): single for one in shown}
    aspects[kind,] = whole
    return aspects


def _ends(subjects: Sequence[Subject]) -> dict[str, set[Level]]:
    """The levels that a probe should show: the ends of a range of numbers, all of a category."""
    levels: dict[str, set[Level]] = {}
    for subject in subjects:
        for name, level in subject.levels.items():
            levels.setdefault(name, set()).add(level)
    for name, found in levels.items():
        numbers = [one for one in found if type(one) in {int, float}]
        if len(numbers) == len(found):
            levels[name] = {min(numbers), max(numbers)}
    return levels


@dataclass(frozen=True)
class Probe:
    """What came of a trial."""

    observations: list[Observation] = field(default_factory=list)
    probed: list[str] = field(default_factory=list)
    """The scenarios that gave an observation, each as often as it did."""
    seconds: float = 0.0
    left_out: dict[str, str] = field(default_factory=dict)
    """Scenario → why it gave none."""
    unavailable: dict[Kind, str] = field(default_factory=dict)
    """Kind of runs that cannot be run here → the reason."""
