"""An executor that starts nothing: each run ends as the test says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.results.record import RunRecord, Verdict
from prumo.run.executors import Executor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.results.folder import ResultsFolder
    from prumo.run.events import Listener
    from prumo.study import Run, Study

FINISHED = {"verdict": Verdict.FINISHED}


class FakeExecutor(Executor):
    """Notes every call; `endings` has the record's fields of runs that do not just finish."""

    def __init__(
        self,
        study: Study,
        folder: ResultsFolder,
        listener: Listener,
        endings: Mapping[str, Mapping[str, Any] | type[BaseException]] | None = None,
    ) -> None:
        super().__init__(study, folder, listener)
        self.endings = dict(endings or {})
        self.calls: list[str] = []

    def prepare(self, runs: Sequence[Run]) -> None:
        self.calls.append("prepare " + " ".join(run.name for run in runs))

    def execute(self, run: Run, order: int) -> RunRecord:
        self.calls.append(f"{order} {run.name}")
        ending = self.endings.get(run.name, FINISHED)
        if isinstance(ending, type):
            raise ending
        record = RunRecord(**self.identity(run, order), **ending)
        self.folder.begin(run.name)
        self.folder.finish(record)
        return record

    def skip(self, run: Run, order: int, reason: str) -> RunRecord:
        self.calls.append(f"skip {run.name}")
        return super().skip(run, order, reason)

    def close(self) -> None:
        self.calls.append("close")
