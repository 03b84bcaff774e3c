"""Executors: where the runs of a study are carried out. A plug-in point, `prumo.executors`.

An executor is a subclass of `Executor` that an entry point names:

    [project.entry-points."prumo.executors"]
    mine = "my_package:MyExecutor"

`prumo run --executor mine` then makes one for the study, and calls, in this order: `prepare`,
`preflight` and `architectures` once if anything is to be run, `execute` or `skip` for one run after
the other, and `close` at the end, whatever happened.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from prumo.results.record import RunRecord, Verdict
from prumo.study import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.results.folder import ResultsFolder
    from prumo.run.events import Listener
    from prumo.run.preflight import Preflight
    from prumo.study import Run, Study
    from prumo.study.network import Architecture


class Executor(ABC):
    """Carries out the runs of one study, one at a time.

    A subclass must have `execute`, and overrides the other methods where it has something to do:

        class MyExecutor(Executor):
            def execute(self, run: Run, order: int) -> RunRecord:
                record = RunRecord(**self.identity(run, order), verdict=..., metrics=...)
                self.folder.begin(run.name)
                self.folder.finish(record)
                return record

    Args:
        study: the study.
        folder: its results folder, locked for this process while the executor is in use.
        listener: hears about progress and about what a user should know.

    Raises:
        PrumoError: This study cannot be carried out here.
    """

    def __init__(self, study: Study, folder: ResultsFolder, listener: Listener) -> None:
        self.study = study
        self.folder = folder
        self.listener = listener
        self.machine: dict[str, Any] = {}
        """Facts of the machine that carries out the runs, for the record of each."""

    def prepare(self, runs: Sequence[Run]) -> None:
        """Make ready what these runs share, before the first of them.

        Raises:
            PrumoError: One of them could never work.
        """
        del runs

    def preflight(self, runs: Sequence[Run], max_cost_usd: float | None) -> Preflight | None:
        """What these runs would start elsewhere and cost; None where they cost nothing.

        Nothing that costs money is started before the user has agreed to it.
        """
        del runs, max_cost_usd
        return None

    def architectures(self, runs: Sequence[Run]) -> dict[Architecture, tuple[str, ...]]:
        """The networks that these runs train, each with its frameworks.

        Those that several frameworks train are proven equal before the first run. None by default.
        """
        del runs
        return {}

    @abstractmethod
    def execute(self, run: Run, order: int) -> RunRecord:
        """Carry out a run, the `order`-th of this study, and finish its folder with its record.

        Whatever happens to the run is its verdict and no exception: also `unavailable`, and
        `interrupted` where the user asked to stop. The study ends after an interrupted run.

        Raises:
            StorageError: The record cannot be written.
            KeyboardInterrupt: The user asked to stop before the run began.
        """

    def skip(self, run: Run, order: int, reason: str) -> RunRecord:
        """Record a run that is not worth trying."""
        return self.record_unstarted(run, order, Verdict.NOT_TRIED, reason)

    def close(self) -> None:  # noqa: B027 (most executors hold nothing)
        """Release what the executor holds. Called once, also after an error."""

    def identity(self, run: Run, order: int) -> dict[str, Any]:
        """The fields of a record that say which run it is of, and that it starts now."""
        return {
            "run": run.name,
            "scenario": run.scenario.name,
            "replication": run.replication,
            "study": self.study.name,
            "factors": dict(run.scenario.factors),
            "parameters": dict(run.scenario.parameters),
            "fingerprint": fingerprint(self.study, run.scenario),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "order": order,
        }

    def record_unstarted(self, run: Run, order: int, verdict: Verdict, reason: str) -> RunRecord:
        """Record a run of which nothing was started."""
        record = RunRecord(
            **self.identity(run, order), verdict=verdict, reason=reason, machine=self.machine
        )
        self.folder.begin(run.name)
        self.folder.finish(record)
        return record
