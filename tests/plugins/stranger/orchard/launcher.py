"""How a run of the workload is started."""

import os
import sys
from pathlib import Path

from prumo.results.folder import JOURNAL_FILE
from prumo.run.worker import Launch
from prumo.run.workloads import Launcher
from prumo.study import Run


class SortingLauncher(Launcher):
    """Starts `python -m orchard.sort ROWS COLUMNS`."""

    speaks_protocol = False  # its exit code says whether it finished

    def launch(self, run: Run, folder: Path) -> Launch:
        """What to start for one run."""
        rows = run.scenario.parameters["rows"]
        columns = run.scenario.parameters["columns"]
        return Launch(
            command=[sys.executable, "-m", "orchard.sort", str(rows), str(columns)],
            directory=self.study.folder,
            environment={**os.environ, "PRUMO_JOURNAL": str(folder / JOURNAL_FILE)},
            threads=1,
        )
