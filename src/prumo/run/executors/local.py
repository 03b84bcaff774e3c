"""Runs on this machine: each in a process of its own, with a sampler beside it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, UnavailableError
from prumo.machine.machine import machine_facts
from prumo.results.folder import JOURNAL_FILE
from prumo.results.record import RunRecord, Verdict
from prumo.run.events import ListenerProgress, RunAdvanced
from prumo.run.journal import EpochCounter
from prumo.run.measurement import measure
from prumo.run.workloads import open_workload
from prumo.study import fingerprint
from prumo.supervise.interruption import Interruption

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from prumo.results.folder import ResultsFolder
    from prumo.run.events import Listener
    from prumo.run.worker import Launch
    from prumo.study import Run, Study
    from prumo.study.network import Architecture


INFLUENTIAL = {"sample_seconds", "warmup_steps", "threads", "affinity", "memory_bytes"}
"""The settings of a measurement that can show in its figures."""


class LocalExecutor:
    """Carries out the runs of one study here, one at a time."""

    def __init__(self, study: Study, folder: ResultsFolder, listener: Listener) -> None:
        self._study = study
        self._folder = folder
        self._listener = listener
        self._workload = open_workload(study, ListenerProgress(listener))
        self._interruption = Interruption()
        _require_cpus(study.measure.affinity)
        self._machine = machine_facts(folder.path).as_dict()

    def prepare(self, runs: Sequence[Run]) -> None:
        """Make ready what these runs share; PrumoError when one of them could never work."""
        self._workload.prepare(runs)

    def architectures(self, runs: Sequence[Run]) -> dict[Architecture, tuple[str, ...]]:
        """The networks that these runs train, each with its frameworks."""
        scenarios = {run.scenario.number: run.scenario for run in runs}
        return self._workload.architectures(scenarios.values())

    def execute(self, run: Run, order: int) -> RunRecord:
        """Measure a run and record it; an absent device or framework is recorded too."""
        path = self._folder.run_path(run.name)
        try:
            launch = self._workload.launch(run, path)
        except UnavailableError as error:
            return self._record_unstarted(run, order, Verdict.UNAVAILABLE, str(error))
        with self._interruption.held_back():
            self._folder.begin(run.name)
            if launch.task is not None:
                self._folder.write_task(run.name, launch.task)
            record = self._measured(run, order, launch, path)
            self._folder.finish(record)
        return record

    def close(self) -> None:
        """Give back what waiting for interruptions needs."""
        self._interruption.close()

    def skip(self, run: Run, order: int, reason: str) -> RunRecord:
        """Record a run that is not worth trying."""
        return self._record_unstarted(run, order, Verdict.NOT_TRIED, reason)

    def _record_unstarted(self, run: Run, order: int, verdict: Verdict, reason: str) -> RunRecord:
        record = RunRecord(
            **self._identity(run, order), verdict=verdict, reason=reason, machine=self._machine
        )
        self._folder.begin(run.name)
        self._folder.finish(record)
        return record

    def _measured(self, run: Run, order: int, launch: Launch, path: Path) -> RunRecord:
        identity = self._identity(run, order)
        measurement = measure(
            run,
            launch,
            self._workload,
            path,
            self._study.measure,
            self._interruption,
            self._advance(run, path),
        )
        return RunRecord(
            **identity,
            verdict=measurement.judgement.verdict,
            reason=measurement.judgement.reason,
            notes=measurement.judgement.notes,
            anomalies=list(measurement.anomalies),
            wall_seconds=measurement.ending.wall_seconds,
            exit_code=measurement.ending.exit_code,
            signal=measurement.ending.signal,
            metrics=measurement.metrics,
            machine=self._machine | {"noise_before": measurement.noise_before},
            environment=dict(launch.facts),
            sampler=measurement.sampler,
            device=measurement.facts.device,
            threads=launch.threads,
            settings=self._study.measure.model_dump(
                mode="json", include=INFLUENTIAL, exclude_none=True
            ),
            versions=measurement.facts.versions,
            build=measurement.facts.build,
            data=measurement.facts.data,
            network=measurement.facts.network,
        )

    def _advance(self, run: Run, path: Path) -> Callable[[], None]:
        """Tell the listener about epochs that ended since it was last told."""
        counter = EpochCounter(path / JOURNAL_FILE)
        epochs = run.scenario.parameters.get("epochs")

        def tell() -> None:
            if not counter.advance():
                return
            known = epochs if isinstance(epochs, int) else None
            self._listener(RunAdvanced(run, counter.epochs, known))

        return tell

    def _identity(self, run: Run, order: int) -> dict[str, Any]:
        return {
            "run": run.name,
            "scenario": run.scenario.name,
            "replication": run.replication,
            "study": self._study.name,
            "factors": dict(run.scenario.factors),
            "parameters": dict(run.scenario.parameters),
            "fingerprint": fingerprint(self._study, run.scenario),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "order": order,
        }


def _require_cpus(affinity: tuple[int, ...] | None) -> None:
    """Refuse CPUs that this process may not use, before anything is started on them."""
    usable = os.sched_getaffinity(0)
    absent = [cpu for cpu in affinity or () if cpu not in usable]
    if absent:
        raise InputError(
            f"measure.affinity names CPU {absent[0]}, which is not to be had here; "
            f"there are {', '.join(map(str, sorted(usable)))}"
        )
