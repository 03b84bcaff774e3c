"""Training one of Prumo's networks, in the environment of its framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.datasets.study_data import StudyData
from prumo.machine.accelerators import require_device
from prumo.results.folder import JOURNAL_FILE
from prumo.run.worker import Environments, worker_launch, worker_threads
from prumo.run.workloads import Launcher
from prumo.study import Training
from prumo.study.network import Architecture, frameworks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.run.worker import Launch
    from prumo.study import Level, Run, Scenario, Study


class TrainingLauncher(Launcher):
    """Starts `prumo_worker` in the framework's own environment, made where it is missing."""

    def __init__(self, study: Study, progress: Progress) -> None:
        if not isinstance(study.workload, Training):
            raise TypeError(f"{study.name} is not a study of trainings")
        for name, path in study.data_paths().items():
            if not path.exists():
                raise study.error(("workload", "data", name), f"there is nothing at {path}")
        super().__init__(study, progress)
        self._data = StudyData(study, progress)
        self._environments = Environments(study.versions, progress)

    def prepare(self, runs: Sequence[Run]) -> None:
        """Check and prepare the data of all runs before the first one starts."""
        scenarios = {run.scenario.number: run.scenario for run in runs}
        self._data.prepare(scenarios.values())

    def architectures(self, scenarios: Iterable[Scenario]) -> dict[Architecture, tuple[str, ...]]:
        """The networks that these scenarios train, with the shape of their data."""

        def training(parameters: Mapping[str, Level]) -> tuple[Architecture, str]:
            size, shape = int(parameters["image_size"]), self._data.shape(parameters)
            network = Architecture(str(parameters["network"]), size, *shape)
            return network, str(parameters["framework"])

        return frameworks_of(training(scenario.parameters) for scenario in scenarios)

    def launch(self, run: Run, folder: Path) -> Launch:
        """Start a worker that trains the scenario's network."""
        parameters = dict(run.scenario.parameters)
        require_device(str(parameters["device"]))
        environment = self._environments.find(str(parameters["framework"]))
        own = self.study.own_network(str(parameters["network"]))
        task = {
            "run": run.name,
            "journal": str(folder / JOURNAL_FILE),
            "kind": "training",
            "parameters": parameters,
            **({"layers": own.layers} if own else {}),
            "data": self._data.folders(parameters),
            "sources": self._data.sources(parameters),
            "warmup_steps": self.study.measure.warmup_steps,
            "threads": worker_threads(self.study, parameters),
            "profile": self.study.measure.profile,
        }
        return worker_launch(environment, task, folder)
