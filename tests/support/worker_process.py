"""A real worker process and what its journal says."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[2] / "src"
LENET = {
    "framework": "pytorch",
    "network": "lenet5",
    "dataset": "mnist",
    "images": 200,
    "batch_size": 64,
    "epochs": 3,
    "learning_rate": 0.02,
}


@dataclass(frozen=True)
class WorkerRun:
    """How a worker ended and what it told."""

    exit_code: int
    log: str
    events: list[dict[str, Any]]

    def named(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in self.events if entry["event"] == event]

    def only(self, event: str) -> dict[str, Any]:
        (entry,) = self.named(event)
        return entry


def task(folder: Path, parameters: dict[str, Any], /, **changes: Any) -> Path:
    """A task file for one run in this folder."""
    content = {
        "protocol": 1,
        "run": "C01-r1",
        "journal": str(folder / "events.jsonl"),
        "kind": "training",
        "parameters": parameters,
        "data": {},
        "warmup_steps": 0,
        "threads": 1,
    }
    file = folder / "task.json"
    file.write_text(json.dumps({**content, **changes}))
    return file


def run_worker(python: str, task_file: Path, *, address_space_bytes: int = 0) -> WorkerRun:
    """Start a worker as the controller does, in an address space of limited size if asked."""
    command = [python, "-m", "prumo_worker", str(task_file)]
    if address_space_bytes:
        limit = f"({address_space_bytes}, {address_space_bytes})"
        program = (
            "import resource, runpy; "
            f"resource.setrlimit(resource.RLIMIT_AS, {limit}); "
            "runpy.run_module('prumo_worker', run_name='__main__')"
        )
        command[1:3] = ["-c", program]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    return WorkerRun(done.returncode, done.stderr, journal(task_file.parent / "events.jsonl"))


def journal(file: Path) -> list[dict[str, Any]]:
    """The events of a journal; none when it was never begun."""
    if not file.exists():
        return []
    return [json.loads(line, parse_constant=_refuse) for line in file.read_text().splitlines()]


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not strict JSON")
