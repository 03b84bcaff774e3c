"""Training one of Prumo's networks, in the environment of its framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.environment import ensure, find_framework, worker_path
from prumo.errors import UnavailableError
from prumo.machine.cpu import read_cpu
from prumo.machine.gpu import read_gpus
from prumo.measure.journal import Event, journal_metrics
from prumo.measure.launch import Launch, clean_environment, thread_environment
from prumo.results.folder import JOURNAL_FILE, TASK_FILE
from prumo.study import Training

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.environment import Environment
    from prumo.environment.progress import Progress
    from prumo.study import Level, Run, Study

PROTOCOL = 1


class TrainingWorkload:
    """Starts `prumo_worker` in the framework's own environment, made where it is missing."""

    speaks_protocol = True

    def __init__(self, study: Study, progress: Progress) -> None:
        if not isinstance(study.workload, Training):
            raise TypeError(f"{study.name} is not a study of trainings")
        for name, path in study.data_paths().items():
            if not path.exists():
                raise study.error(("workload", "data", name), f"there is nothing at {path}")
        self._study = study
        self._progress = progress
        self._environments: dict[str, Environment] = {}
        self._unavailable: dict[str, str] = {}

    def launch(self, run: Run, folder: Path) -> Launch:
        """Start a worker that trains the scenario's network."""
        parameters = dict(run.scenario.parameters)
        self._require_device(str(parameters["device"]))
        environment = self._environment(str(parameters["framework"]))
        threads = self._threads(parameters)
        task = {
            "protocol": PROTOCOL,
            "run": run.name,
            "journal": str(folder / JOURNAL_FILE),
            "kind": "training",
            "parameters": parameters,
            "data": {name: str(path) for name, path in self._study.data_paths().items()},
            "warmup_steps": self._study.measure.warmup_steps,
            "threads": threads,
        }
        variables = clean_environment() | thread_environment(threads)
        return Launch(
            command=[str(environment.python), "-u", "-m", "prumo_worker", str(folder / TASK_FILE)],
            directory=folder,
            environment=variables | {"PYTHONPATH": str(worker_path()), "PYTHONNOUSERSITE": "1"},
            task=task,
            threads=threads,
            facts={"name": environment.name, "packages": environment.packages},
        )

    def metrics(self, events: list[Event], log: Path) -> dict[str, float]:
        """What the worker's journal says."""
        del log
        return journal_metrics(events)

    def _threads(self, parameters: dict[str, Level]) -> int:
        own = parameters.get("threads") or self._study.measure.threads
        return int(own) if own else read_cpu().usable_cores

    def _require_device(self, device: str) -> None:
        if device != "cuda":
            return
        found = read_gpus()
        if not found.devices:
            raise UnavailableError(f"no NVIDIA GPU on this machine: {found.missing}")

    def _environment(self, framework: str) -> Environment:
        """The framework's environment; what cannot be had here is asked for only once."""
        if framework in self._unavailable:
            raise UnavailableError(self._unavailable[framework])
        if framework not in self._environments:
            try:
                self._environments[framework] = ensure(
                    find_framework(framework, versions=self._study.versions), self._progress
                )
            except UnavailableError as error:
                self._unavailable[framework] = str(error)
                raise
        return self._environments[framework]
