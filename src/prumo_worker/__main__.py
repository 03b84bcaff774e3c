"""The worker process: `python -m prumo_worker TASK.json`."""

from __future__ import annotations

import os
import platform
import sys
import traceback
from importlib import import_module
from pathlib import Path

from prumo_worker.journal import Journal
from prumo_worker.task import PROTOCOL, Task, TaskError, first_line, kind_of, read_task, typed_line

# Kind of task → module and function, imported only when asked for.
KINDS = {
    "training": ("prumo_worker.train", "train"),
    "check": ("prumo_worker.proof", "prove"),
    "retina_training": ("prumo_worker.retina.training", "train"),
    "retina_prediction": ("prumo_worker.retina.prediction", "predict"),
    "pytorch_weights": ("prumo_worker.conversion.pytorch_weights", "read"),
    "model_conversion": ("prumo_worker.conversion", "convert"),
}


def main(arguments: list[str]) -> int:
    """Do one task; 0 after `finished`, 1 after `failed`, 2 when called wrongly."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m prumo_worker TASK.json\n")
        return 2
    try:
        task = read_task(Path(arguments[0]))
        journal = Journal(task.journal)
    except (TaskError, OSError) as error:
        sys.stderr.write(f"prumo_worker: {error}\n")
        return 1
    return _work(task, journal)


def _work(task: Task, journal: Journal) -> int:
    journal.event("started", pid=os.getpid(), python=platform.python_version(), protocol=PROTOCOL)
    try:
        metrics = _do(task, journal)
    except Exception as error:  # noqa: BLE001 (whatever it is, the journal must say so)
        traceback.print_exc()
        kind, words = kind_of(error), first_line(error)
        message = words if words and kind != "crashed" else typed_line(error)
        journal.event("failed", kind=kind, message=message)
        return 1
    journal.event("finished", metrics=metrics)
    return 0


def _do(task: Task, journal: Journal) -> dict[str, float]:
    if task.kind not in KINDS:
        raise TaskError(f"kind: this worker knows {', '.join(KINDS)}, not {task.kind!r}")
    module, function = KINDS[task.kind]
    # Imported here so that a missing numpy is a failure in the journal like any other.
    metrics: dict[str, float] = getattr(import_module(module), function)(task, journal)
    return metrics


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
