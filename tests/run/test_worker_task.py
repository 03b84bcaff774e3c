"""A worker that is asked under a guard: followed, ended with its asker, its failure told."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil
import pytest

from prumo.environments.store import worker_path
from prumo.run.worker import WorkerError, WorkerTask, do_task
from support.shell_worker import shell_environment

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.run.journal import Event

TASK = WorkerTask("retina_prediction", {"threads": 1}, {})


def test_events_are_handed_over_and_returned(tmp_path: Path) -> None:
    heard: list[Event] = []
    shell = """printf '{"event": "step", "images": 3}\n{"event": "finished"}\n' >> events.jsonl"""
    events = do_task(TASK, shell_environment(tmp_path, shell), tmp_path, heard.append)
    assert heard == events == [{"event": "step", "images": 3}, {"event": "finished"}]


def test_what_an_earlier_worker_said_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"event": "finished"}\n')
    with pytest.raises(WorkerError, match="without saying that it finished"):
        do_task(TASK, shell_environment(tmp_path, "exit 0"), tmp_path, lambda _: None)


@pytest.mark.parametrize(
    ("shell", "reason"),
    [
        (
            """echo '{"event": "failed", "kind": "invalid", "message": "no layer"}' >> events.jsonl
            exit 1""",
            "no layer",
        ),
        ("echo a library is missing >&2; exit 3", "exit code 3: a library is missing"),
        ("kill -SEGV $$", "SIGSEGV"),
    ],
)
def test_a_failure_tells_the_reason(tmp_path: Path, shell: str, reason: str) -> None:
    with pytest.raises(WorkerError, match=reason):
        do_task(TASK, shell_environment(tmp_path, shell), tmp_path, lambda _: None)


def test_an_interrupt_ends_the_worker(tmp_path: Path) -> None:
    started: list[int] = []

    def interrupt(event: Event) -> None:
        started.append(event["pid"])
        raise KeyboardInterrupt

    shell = """echo '{"event": "started", "pid": '$$'}' >> events.jsonl; exec sleep 600"""
    with pytest.raises(KeyboardInterrupt):
        do_task(TASK, shell_environment(tmp_path, shell), tmp_path, interrupt)
    assert len(started) == 1
    assert not psutil.pid_exists(started[0])


def test_a_worker_that_takes_too_much_memory_is_ended(tmp_path: Path) -> None:
    greedy = f"exec {sys.executable} -c 'kept = b\"x\" * 2**29; import time; time.sleep(600)'"
    with pytest.raises(WorkerError, match="passed its memory cap of 128 MiB"):
        do_task(
            replace(TASK, memory_bytes=128 * 2**20),
            shell_environment(tmp_path, greedy),
            tmp_path,
            lambda _: None,
        )


def test_a_companion_is_behind_the_worker_on_its_path(tmp_path: Path) -> None:
    shell = """printf '{"event": "finished", "path": "%s"}\n' "$PYTHONPATH" >> events.jsonl"""
    environment = shell_environment(tmp_path, shell)

    task = replace(TASK, companion=tmp_path / "companion")
    (event,) = do_task(task, environment, tmp_path, lambda _: None)

    assert event["path"].split(":")[0] == str(worker_path())
    assert event["path"].split(":")[1:] == [str(tmp_path / "companion")]
