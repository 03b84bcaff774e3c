"""Workers: the isolated environments of frameworks, and how a worker is started in one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure
from prumo.environments.worker_source import worker_path
from prumo.errors import UnavailableError
from prumo.machine.cpu import read_cpu
from prumo.results.folder import TASK_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prumo.environments.store import Environment
    from prumo.progress import Progress
    from prumo.study import Level, Study


THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
)

# Of the controller's own interpreter: they would lead another interpreter astray.
PYTHON_VARIABLES = (
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "VIRTUAL_ENV",
    "__PYVENV_LAUNCHER__",
)


@dataclass(frozen=True)
class Launch:
    """A command with its environment, and how its figures are found."""

    command: list[str]
    directory: Path
    environment: Mapping[str, str]
    task: Mapping[str, Any] | None = None
    """What the worker is asked, for workers that follow the protocol."""
    threads: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The isolated environment's name and packages, for the record."""


def thread_environment(threads: int) -> dict[str, str]:
    """The variables by which the numeric libraries learn how many threads to use."""
    return dict.fromkeys(THREAD_VARIABLES, str(threads))


def clean_environment() -> dict[str, str]:
    """This process's environment without what belongs to its own interpreter."""
    return {name: value for name, value in os.environ.items() if name not in PYTHON_VARIABLES}


PROTOCOL = 1


class Environments:
    """The environments of a study's frameworks, made where they are missing."""

    def __init__(self, versions: Mapping[str, str], progress: Progress) -> None:
        self._versions = versions
        self._progress = progress
        self._found: dict[str, Environment] = {}
        self._unavailable: dict[str, str] = {}

    def find(self, framework: str) -> Environment:
        """A framework's environment; what cannot be had here is asked for only once."""
        if framework in self._unavailable:
            raise UnavailableError(self._unavailable[framework])
        if framework not in self._found:
            try:
                request = find_framework(framework, versions=self._versions)
                self._found[framework] = ensure(request, self._progress)
            except UnavailableError as error:
                self._unavailable[framework] = str(error)
                raise
        return self._found[framework]


def worker_launch(
    environment: Environment,
    task: Mapping[str, Any],
    folder: Path,
    companion: Path | None = None,
) -> Launch:
    """Start `prumo_worker` with this task, whose file will be in the folder.

    A companion is a folder of packages that the environment lacks.
    """
    python_path = os.pathsep.join(map(str, filter(None, (worker_path(), companion))))
    variables = clean_environment() | thread_environment(task["threads"])
    return Launch(
        command=[str(environment.python), "-u", "-m", "prumo_worker", str(folder / TASK_FILE)],
        directory=folder,
        environment=variables | {"PYTHONPATH": python_path, "PYTHONNOUSERSITE": "1"},
        task={"protocol": PROTOCOL, **task},
        threads=task["threads"],
        facts={"name": environment.name, "packages": environment.packages},
    )


def worker_threads(study: Study, parameters: Mapping[str, Level]) -> int:
    """As many as the scenario or else the study asks for; one for every core where neither does."""
    return int(parameters.get("threads") or study.measure.threads or read_cpu().usable_cores)
