"""A worker process: its environment, command and limits, its end; and tasks beside all runs."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from prumo.environments.frameworks import find_framework
from prumo.environments.setup import ensure
from prumo.environments.store import worker_path
from prumo.errors import PrumoError, StorageError, UnavailableError
from prumo.files import write_json
from prumo.machine.cgroup import capped_cgroup
from prumo.machine.cpu import read_cpu
from prumo.results.folder import JOURNAL_FILE, LOG_FILE, TASK_FILE
from prumo.results.record import Verdict
from prumo.run.journal import GrowingJournal
from prumo.run.verdict import Evidence, judge
from prumo.supervise.guard import GuardedProcess, Order
from prumo.supervise.interruption import sigterm_as_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from prumo.environments.store import Environment
    from prumo.machine.cgroup import CappedCgroup
    from prumo.progress import Progress
    from prumo.run.journal import Event
    from prumo.study import Level, Study
    from prumo.supervise.guard import Ending
    from prumo.supervise.interruption import Interruption


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
_LAST_BYTES = 4096


class Environments:
    """The environments of a study's frameworks, made where they are missing."""

    def __init__(self, versions: Mapping[str, str], progress: Progress) -> None:
        self._versions = versions
        self._progress = progress
        self._found: dict[str, Environment | UnavailableError] = {}

    def find(self, framework: str) -> Environment:
        """A framework's environment; what cannot be had here is asked for only once."""
        if framework not in self._found:
            try:
                request = find_framework(framework, versions=self._versions)
                self._found[framework] = ensure(request, self._progress)
            except UnavailableError as error:
                self._found[framework] = error
        found = self._found[framework]
        if isinstance(found, UnavailableError):
            raise found
        return found


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


@dataclass(frozen=True)
class Limits:
    """What a started worker may use, and how it is stopped."""

    timeout_seconds: float | None = None
    memory_bytes: int | None = None
    stop_seconds: float = 10.0
    """From the request to end to the kill."""
    affinity: tuple[int, ...] | None = None


@contextmanager
def started_worker(launch: Launch, folder: Path, limits: Limits) -> Iterator[StartedWorker]:
    """A worker under a guard and within its limits; leaving the block ends all of it.

        with started_worker(launch, folder, Limits(timeout_seconds=60)) as worker:
            ending = worker.wait()

    Its output goes to the log in the folder.
    """
    with capped_cgroup(folder.name, limits.memory_bytes) as group:
        order = Order(
            command=launch.command,
            directory=str(launch.directory),
            environment=dict(launch.environment),
            log=str(folder / LOG_FILE),
            timeout_seconds=limits.timeout_seconds,
            stop_seconds=limits.stop_seconds,
            memory_bytes=None if group.join_files else limits.memory_bytes,
            affinity=list(limits.affinity) if limits.affinity else None,
            join=group.join_files,
        )
        with GuardedProcess(order) as process:
            yield StartedWorker(process, group)


@dataclass(frozen=True)
class StartedWorker:
    """A worker that is running, and the control group that holds it to its memory cap."""

    process: GuardedProcess
    group: CappedCgroup

    def wait(
        self,
        tick: Callable[[], None] = lambda: None,
        tick_seconds: float = 1.0,
        interruption: Interruption | None = None,
    ) -> Ending:
        """Wait for the end; `tick` is called about every `tick_seconds` until then.

        The first interruption asks the worker to end, the next one kills it.
        """
        obeyed = 0
        wake = interruption.wake if interruption else None
        while (ending := self.process.wait(tick_seconds, wake=wake)) is None:
            requests = interruption.take() if interruption else 0
            if requests > obeyed:
                (self.process.stop if obeyed == 0 and requests == 1 else self.process.kill)()
                obeyed = requests
            tick()
        return replace(ending, control_group_kills=self.group.oom_kills())


def end_of_log(folder: Path) -> str:
    """The last lines that a worker printed."""
    try:
        with (folder / LOG_FILE).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LAST_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


_LOOK_SECONDS = 0.2


class WorkerError(PrumoError):
    """A worker did not do what it was asked, with the reason that it gave."""


class WorkerMemoryError(WorkerError):
    """A worker had not enough memory for what it was asked."""


@dataclass(frozen=True)
class WorkerTask:
    """What a worker is asked, and on which terms."""

    kind: str
    parameters: Mapping[str, Any]
    data: Mapping[str, str]
    """Names of files and folders → where they are."""
    companion: Path | None = None
    """A folder of packages that the environment lacks."""
    memory_bytes: int | None = None
    """A worker that takes more is ended."""


def do_task(
    task: WorkerTask, environment: Environment, folder: Path, on_event: Callable[[Event], None]
) -> list[Event]:
    """Have a worker do it; task, journal and log stay in the folder, which must exist.

    Whatever interrupts this ends the worker too. Every event is handed over as it comes.
    """
    document = {
        "run": task.kind,
        "kind": task.kind,
        "parameters": dict(task.parameters),
        "data": dict(task.data),
        "journal": str(folder / JOURNAL_FILE),
        "warmup_steps": 0,
        "threads": task.parameters.get("threads") or read_cpu().usable_cores,
    }
    launch = worker_launch(environment, document, folder, task.companion)
    with StorageError.writing(folder):
        (folder / JOURNAL_FILE).unlink(missing_ok=True)
        write_json(folder / TASK_FILE, launch.task)
    journal = GrowingJournal(folder / JOURNAL_FILE)
    events: list[Event] = []

    def hear() -> None:
        for event in journal.news():
            events.append(event)
            on_event(event)

    limits = Limits(memory_bytes=task.memory_bytes)
    with sigterm_as_interrupt(), started_worker(launch, folder, limits) as worker:
        ending = worker.wait(hear, _LOOK_SECONDS)
        hear()
    judgement = judge(
        Evidence(
            ending,
            events,
            metrics={},
            speaks_protocol=True,
            last_lines=end_of_log(folder),
            memory_bytes=task.memory_bytes,
        )
    )
    if judgement.verdict is Verdict.OUT_OF_MEMORY:
        raise WorkerMemoryError(judgement.reason)
    if judgement.verdict is not Verdict.FINISHED:
        raise WorkerError(judgement.reason)
    return events
