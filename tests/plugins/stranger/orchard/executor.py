"""An executor: this machine, with a line in a log after each run."""

from prumo.results.record import RunRecord
from prumo.run.executors.local import LocalExecutor
from prumo.study import Run


class LoggedExecutor(LocalExecutor):
    """Runs here, and appends the verdict of each run to `finished.log`."""

    def execute(self, run: Run, order: int) -> RunRecord:
        """Carry out one run and log it."""
        record = super().execute(run, order)
        with (self.folder.path / "finished.log").open("a", encoding="utf-8") as log:
            log.write(f"{order} {run.name} {record.verdict}\n")
        return record
