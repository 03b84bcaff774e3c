"""Runs on this machine: each in a process of its own, with a sampler beside it."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from prumo.errors import InputError, UnavailableError
from prumo.machine.machine import machine_facts
from prumo.results.folder import JOURNAL_FILE
from prumo.results.record import RunRecord, Verdict
from prumo.run.events import ListenerProgress, RunProgress
from prumo.run.executors import Executor
from prumo.run.journal import GrowingJournal, events_of
from prumo.run.measurement import measure
from prumo.run.workloads import open_workload
from prumo.supervise.interruption import Interruption

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from prumo.results.folder import ResultsFolder
    from prumo.run.events import Listener
    from prumo.run.preflight import Preflight
    from prumo.study import Run, Study
    from prumo.study.network import Architecture


INFLUENTIAL = {"sample_seconds", "warmup_steps", "threads", "affinity", "memory_bytes"}
"""The settings of a measurement that can show in its figures."""


class LocalExecutor(Executor):
    """Carries out the runs of one study here, one at a time."""

    def __init__(self, study: Study, folder: ResultsFolder, listener: Listener) -> None:
        super().__init__(study, folder, listener)
        usable = os.sched_getaffinity(0)
        if absent := [cpu for cpu in study.measure.affinity or () if cpu not in usable]:
            raise InputError(
                f"measure.affinity names CPU {absent[0]}, which this process cannot use; "
                f"it can use {', '.join(map(str, sorted(usable)))}"
            )
        self._workload = open_workload(study, ListenerProgress(listener))
        self.machine = asdict(machine_facts(folder.path))
        self._interruption = Interruption()

    def prepare(self, runs: Sequence[Run]) -> None:
        """Make ready what these runs share; PrumoError when one of them could never work."""
        self._workload.prepare(runs)

    def preflight(self, runs: Sequence[Run], max_cost_usd: float | None) -> Preflight | None:
        """What the workload would start elsewhere."""
        return self._workload.preflight(runs, self.folder.path, max_cost_usd)

    def architectures(self, runs: Sequence[Run]) -> dict[Architecture, tuple[str, ...]]:
        """The networks that these runs train, each with its frameworks."""
        scenarios = {run.scenario.number: run.scenario for run in runs}
        return self._workload.architectures(scenarios.values())

    def execute(self, run: Run, order: int) -> RunRecord:
        """Measure a run and record it; an absent device or framework is recorded too."""
        path = self.folder.run_path(run.name)
        try:
            launch = self._workload.launch(run, path)
        except UnavailableError as error:
            return self.record_unstarted(run, order, Verdict.UNAVAILABLE, str(error))
        with self._interruption.held_back():
            self.folder.begin(run.name)
            if launch.task is not None:
                self.folder.write_task(run.name, launch.task)
            identity, settings = self.identity(run, order), self.study.measure
            report, stop = self._progress(run, path), self._interruption
            fields = measure(run, launch, self._workload, path, settings, stop, report)
            fields["machine"] = self.machine | fields["machine"]
            influential = settings.model_dump(mode="json", include=INFLUENTIAL, exclude_none=True)
            record = RunRecord(**identity, **fields, settings=influential)
            self.folder.finish(record)
        return record

    def close(self) -> None:
        """Remove what the runs shared; close the pipe that interruptions are heard through."""
        try:
            self._workload.close()
        finally:
            self._interruption.close()

    def _progress(self, run: Run, path: Path) -> Callable[[], None]:
        """A function that reports the epochs which ended since its last call."""
        journal = GrowingJournal(path / JOURNAL_FILE)
        epochs = run.scenario.parameters.get("epochs")
        known = epochs if isinstance(epochs, int) else None
        done = 0

        def report() -> None:
            nonlocal done
            if ended := len(events_of(journal.news(), "epoch")):
                done += ended
                self.listener(RunProgress(run, done, known))

        return report
