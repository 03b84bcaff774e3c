"""What a long job leaves on a terminal, in a log and in a stream of JSON."""

from __future__ import annotations

import io
import json
from itertools import count
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from prumo.cli.console import StatusProgress, plain_progress
from prumo.cli.run import JsonProgress
from prumo.progress import ProgressCounter
from prumo.run.events import ListenerProgress

if TYPE_CHECKING:
    from prumo.progress import Progress


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second passes whenever someone looks."""
    times = count(0.0, 0.5)
    monkeypatch.setattr("time.monotonic", lambda: next(times))


def work(progress: Progress) -> None:
    for job in ("fetching", "reading"):
        counter = ProgressCounter(job, 50, "images", progress)
        for done in range(1, 51):
            counter.update(done)


def test_a_log_keeps_each_job_once_and_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    work(plain_progress())
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("  ")] == ["  fetching", "  reading"]
    assert "fetching: 40 % of 50 images" in lines
    assert len(lines) == 6


def test_json_has_one_activity_for_each_job(capsys: pytest.CaptureFixture[str]) -> None:
    work(ListenerProgress(JsonProgress()))
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    activities = [event["text"] for event in events if event["event"] == "activity"]
    assert activities == ["fetching", "reading"]


def test_a_terminal_shows_how_far_a_job_is() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    status = console.status("")
    StatusProgress(status).show("reading", "8 % of 50 images")
    assert str(status.status) == "reading: 8 % of 50 images"
