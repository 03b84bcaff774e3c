"""The contract of the entry points in `prumo.executors`."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from prumo.results.folder import ResultsFolder
from prumo.results.record import RunRecord, Verdict
from prumo.run.executors import Executor
from prumo.study import Run, Study
from prumo.testing.require import require

if TYPE_CHECKING:
    from collections.abc import Iterator


class ExecutorContract:
    """An executor: carries out the runs of a study somewhere, and records each.

    class TestMine(ExecutorContract):
        executor = MyExecutor
    """

    executor: ClassVar[type[Executor]]
    """What the entry point names."""
    command: ClassVar[list[str]] = ["sh", "-c", "echo '{{\"answer\": 42}}'; exit {code}"]
    """A program that ends with the level of the factor `code` and prints the metric `answer`."""

    def test_it_is_an_executor(self) -> None:
        """Prumo makes one for each study."""
        require(
            isinstance(self.executor, type) and issubclass(self.executor, Executor),
            f"the entry point names a subclass of prumo.run.executors.Executor: {self.executor!r}",
        )

    def test_a_run_is_carried_out_and_recorded(self) -> None:
        """What `execute` returns is in the run's folder."""
        with self._open() as (executor, runs):
            record = executor.execute(runs[0], 1)
            self._check_record(executor, runs[0], record, 1)
            require(
                record.verdict is Verdict.FINISHED,
                f"a program that ends with 0 has finished, not {record.verdict}: {record.reason}",
            )
            require(
                record.metrics.get("answer") == 42,  # noqa: PLR2004 (what the program prints)
                f"its metrics are those that it printed: {record.metrics}",
            )

    def test_a_failure_is_a_verdict_and_no_exception(self) -> None:
        """One bad run must not end a study."""
        with self._open() as (executor, runs):
            record = executor.execute(runs[1], 2)
            self._check_record(executor, runs[1], record, 2)
            require(
                record.verdict.is_failure,
                f"a program that ends with 3 has failed, not {record.verdict}",
            )
            require(record.reason, "a failure has a reason")

    def test_a_skipped_run_is_recorded_with_its_reason(self) -> None:
        """The reader of the results sees why a run was not tried."""
        with self._open() as (executor, runs):
            record = executor.skip(runs[0], 1, "it would not fit")
            self._check_record(executor, runs[0], record, 1)
            require(record.verdict is Verdict.NOT_TRIED, "a skipped run is `not_tried`")
            require(record.reason == "it would not fit", "a skipped run has the given reason")

    def _check_record(self, executor: Executor, run: Run, record: RunRecord, order: int) -> None:
        require(isinstance(record, RunRecord), "it returns a prumo.results.record.RunRecord")
        kept = executor.folder.record(run.name)
        require(
            kept is not None and kept.model_dump_json() == record.model_dump_json(),
            "the record that is returned is also in the run's folder: folder.finish(record)",
        )
        wanted = executor.identity(run, order)
        del wanted["started"]
        wrong = [name for name, value in wanted.items() if getattr(record, name) != value]
        require(not wrong, f"a record has the fields of `identity(run, order)`: {wrong} differ")

    @contextmanager
    def _open(self) -> Iterator[tuple[Executor, list[Run]]]:
        """An executor as `prumo run` uses one, from `prepare` to `close`."""
        workload = {"kind": "command", "command": self.command}
        study = Study.from_dict(
            {"name": "contract", "workload": workload, "factors": {"code": [0, 3]}}
        )
        runs = [Run(scenario, 1) for scenario in study.scenarios()]
        with tempfile.TemporaryDirectory(prefix="prumo-contract-") as path:
            folder = ResultsFolder(Path(path) / "results")
            folder.create()
            with folder.locked():
                executor = self.executor(study, folder, lambda _event: None)
                try:
                    executor.prepare(runs)
                    executor.architectures(runs)
                    yield executor, runs
                finally:
                    executor.close()
