"""Runs of the workload `retina`: each one is a training in TensorFlow's environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.machine.accelerators import require_device
from prumo.results.folder import JOURNAL_FILE
from prumo.run.worker import Environments, worker_launch, worker_threads
from prumo.run.workloads import Launcher
from prumo_retina.workload import FRAMEWORK, Retina

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.progress import Progress
    from prumo.run.worker import Launch
    from prumo.study import Run, Study

_DATA = ("workload", "data")
CARD_FILE = "records.json"


class RetinaLauncher(Launcher):
    """Starts the training of `prumo retina train` anew for each run; no model is kept."""

    # Some are for validation, and a training may stop early.
    sees_all_images = False

    def __init__(self, study: Study, progress: Progress) -> None:
        super().__init__(study, progress)
        self._records = _records_folder(study)
        self._environments = Environments(study.versions, progress)

    def prepare(self, runs: Sequence[Run]) -> None:
        """Refuse photographs that these runs cannot be trained on."""
        if self._records is None:
            return
        size, folds = _size_and_folds(self.study, self._records)
        asked = {run.scenario.parameters["image_size"] for run in runs}
        if asked - {size}:
            raise self.study.error(
                _DATA, f"has photographs of {size} pixels: give `image_size: {size}` under `fixed`"
            )
        if folds:
            raise self.study.error(
                _DATA,
                "is in folds: `prumo retina convert` without --folds makes what a run trains on",
            )

    def launch(self, run: Run, folder: Path) -> Launch:
        """Start a worker that trains the scenario's network from the beginning."""
        parameters = dict(run.scenario.parameters)
        require_device(str(parameters["device"]))
        environment = self._environments.find(FRAMEWORK)
        records = {"records": str(self._records)} if self._records else {}
        task = {
            "run": run.name,
            "journal": str(folder / JOURNAL_FILE),
            "kind": "retina_training",
            "parameters": parameters,
            "data": records,
            "warmup_steps": self.study.measure.warmup_steps,
            "threads": worker_threads(self.study, parameters),
            "profile": self.study.measure.profile,
        }
        return worker_launch(environment, task, folder)


def _records_folder(study: Study) -> Path | None:
    if not isinstance(study.workload, Retina):
        raise TypeError(f"{study.name} is not a study of trainings on photographs")
    if study.workload.data is None:
        return None
    data = study.folder.absolute() / Path(study.workload.data).expanduser()
    if not data.is_dir():
        raise study.error(_DATA, f"there is no folder {data}")
    records = data / "records"
    if not (records / CARD_FILE).is_file():
        raise study.error(_DATA, f"{data} has no records: `prumo retina convert` makes them")
    return records


def _size_and_folds(study: Study, records: Path) -> tuple[int, int]:
    """Side of the photographs in pixels, and in how many folds they are."""
    path = records / CARD_FILE
    try:
        card = json.loads(path.read_bytes())
        return int(card["preparation"]["size"]), int(card["folds"])
    except (OSError, ValueError) as error:
        raise study.error(_DATA, f"{path} cannot be read: {error}") from error
    except (KeyError, TypeError) as error:
        raise study.error(
            _DATA, f"{path} is not what Prumo writes; call `prumo retina convert` again"
        ) from error
