"""A worker process: its environment, command and limits, its end; and tasks beside all runs."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

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
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from prumo.environments.store import Environment
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


@dataclass(frozen=True)
class Limits:
    """What a started worker may use, and how it is stopped."""

    timeout_seconds: float | None = None
    memory_bytes: int | None = None
    stop_seconds: float = 10.0
    """From the request to end to the kill."""
    affinity: tuple[int, ...] | None = None


@dataclass(frozen=True)
class WorkerEnd:
    """How a worker ended, and how many of its processes passed the memory cap."""

    ending: Ending
    control_group_kills: int


class StartedWorker:
    """A worker under a guard and within its limits; leaving the block ends all of it.

        with StartedWorker(launch, folder, Limits(timeout_seconds=60)) as worker:
            end = worker.wait()

    Its output goes to the log in the folder.
    """

    def __init__(self, launch: Launch, folder: Path, limits: Limits) -> None:
        with ExitStack() as stack:
            group = stack.enter_context(capped_cgroup(folder.name, limits.memory_bytes))
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
            self._process = stack.enter_context(GuardedProcess(order))
            self._stack = stack.pop_all()
        self._group = group
        self.cap_missing = "" if limits.memory_bytes is None else group.missing
        """Why no control group holds the memory cap, so that it is only watched."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    @property
    def guard_pid(self) -> int:
        """The process number at the root of the worker's tree."""
        return self._process.guard_pid

    def wait(
        self,
        tick: Callable[[], None] = lambda: None,
        tick_seconds: float = 1.0,
        interruption: Interruption | None = None,
    ) -> WorkerEnd:
        """Wait for the end; `tick` is called about every `tick_seconds` until then.

        The first interruption asks the worker to end, the next one kills it.
        """
        obeyed = 0
        wake = interruption.wake if interruption else None
        while (ending := self._process.wait(tick_seconds, wake=wake)) is None:
            requests = interruption.take() if interruption else 0
            if requests > obeyed:
                (self._process.stop if obeyed == 0 and requests == 1 else self._process.kill)()
                obeyed = requests
            tick()
        return WorkerEnd(ending, self._group.oom_kills())


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
    """What a worker is asked."""

    kind: str
    parameters: Mapping[str, Any]
    data: Mapping[str, str]
    """Names of files and folders → where they are."""

    def document(self, journal: Path) -> dict[str, Any]:
        """As the worker protocol wants it."""
        return {
            "run": self.kind,
            "kind": self.kind,
            "parameters": dict(self.parameters),
            "data": dict(self.data),
            "journal": str(journal),
            "warmup_steps": 0,
            "threads": self.parameters.get("threads") or read_cpu().usable_cores,
        }


@dataclass(frozen=True)
class Terms:
    """On which terms a worker works."""

    companion: Path | None = None
    """A folder of packages that the environment lacks."""
    memory_bytes: int | None = None
    """A worker that takes more is ended."""


_PLAIN_TERMS = Terms()


def do_task(
    task: WorkerTask,
    environment: Environment,
    folder: Path,
    on_event: Callable[[Event], None],
    terms: Terms = _PLAIN_TERMS,
) -> list[Event]:
    """Have a worker do it; task, journal and log stay in the folder, which must exist.

    Whatever interrupts this ends the worker too. Every event is handed over as it comes.
    """
    document = task.document(folder / JOURNAL_FILE)
    launch = worker_launch(environment, document, folder, terms.companion)
    try:
        (folder / JOURNAL_FILE).unlink(missing_ok=True)
        write_json(folder / TASK_FILE, launch.task)
    except OSError as error:
        raise StorageError.on_writing(folder, error) from error
    journal = GrowingJournal(folder / JOURNAL_FILE)
    events: list[Event] = []

    def hear() -> None:
        for event in journal.news():
            events.append(event)
            on_event(event)

    limits = Limits(memory_bytes=terms.memory_bytes)
    with sigterm_as_interrupt(), StartedWorker(launch, folder, limits) as worker:
        end = worker.wait(hear, _LOOK_SECONDS)
        hear()
    evidence = Evidence(
        end.ending,
        events,
        metrics={},
        speaks_protocol=True,
        control_group_kills=end.control_group_kills,
        last_lines=end_of_log(folder),
        memory_bytes=terms.memory_bytes,
    )
    _require_finished(evidence)
    return events


def _require_finished(evidence: Evidence) -> None:
    judgement = judge(evidence)
    if judgement.verdict is Verdict.OUT_OF_MEMORY:
        raise WorkerMemoryError(judgement.reason)
    if judgement.verdict is not Verdict.FINISHED:
        raise WorkerError(judgement.reason)
