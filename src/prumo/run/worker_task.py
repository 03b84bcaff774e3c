"""A task for a worker beside all runs: started under a guard, followed to its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prumo.errors import PrumoError, StorageError
from prumo.files import write_json
from prumo.machine.cpu import read_cpu
from prumo.results.folder import JOURNAL_FILE, TASK_FILE
from prumo.results.record import Verdict
from prumo.run.journal import GrowingJournal
from prumo.run.verdict import Evidence, judge
from prumo.run.worker import Limits, StartedWorker, end_of_log, worker_launch
from prumo.supervise.interruption import sigterm_as_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from prumo.environments.store import Environment
    from prumo.run.journal import Event

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
