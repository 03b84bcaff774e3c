from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from prumo_worker.journal import Journal
from support.worker_process import journal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_every_event_has_its_name_and_time(file: Path) -> None:
    Journal(file).event("started", pid=7)
    (event,) = journal(file)
    assert event["event"] == "started"
    assert event["pid"] == 7
    assert event["time"] > 1_600_000_000


def test_events_are_appended_to_what_is_there(file: Path) -> None:
    Journal(file).event("started")
    Journal(file).event("finished")
    assert [event["event"] for event in journal(file)] == ["started", "finished"]


def test_many_events_may_bring_times_of_their_own(file: Path) -> None:
    Journal(file).events("step", [{"time": 1.5, "step": 1}, {"time": 2.5, "step": 2}])
    assert [(event["time"], event["step"]) for event in journal(file)] == [(1.5, 1), (2.5, 2)]


def test_numbers_that_json_lacks_become_null_and_are_named(file: Path) -> None:
    Journal(file).event("step", loss=float("nan"), seconds=1.0, metrics={"a": float("-inf")})
    (event,) = journal(file)
    assert event["loss"] is None
    assert event["seconds"] == 1.0
    assert event["metrics"] == {"a": None}
    assert event["not_finite"] == ["loss", "metrics.a"]


def test_finite_events_name_nothing(file: Path) -> None:
    Journal(file).event("step", loss=0.5)
    assert "not_finite" not in journal(file)[0]


def test_a_line_is_whole_even_when_the_pipe_takes_it_in_pieces(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = bytearray()
    reader = threading.Thread(target=lambda: received.extend(pipe.read_bytes()))
    reader.start()
    to_pipe = Journal(pipe)
    to_pipe.event("metric", name="x" * 300_000)
    to_pipe.close()
    reader.join()
    assert received.endswith(b"\n")
    assert len(received) > 300_000
