from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from prumo_worker.probe import Probe
from support.worker_process import SOURCES, journal

SCRIPT = """
from prumo_worker import probe
for epoch in range(2):
    for step in range(3):
        probe.step(loss=1.0 / (step + 1), images=8)
    probe.epoch(loss=0.5, accuracy=0.9, images=24)
probe.metric(top5=0.95)
print("trained")
"""


class Clock:
    """Advances only when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def run_script(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), **variables},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )


def test_a_script_under_a_run_writes_its_events(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    run_script(tmp_path, PRUMO_JOURNAL=str(file))
    events = journal(file)
    steps = [(event["epoch"], event["step"]) for event in events if event["event"] == "step"]
    assert steps == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert [event["event"] for event in events].count("epoch") == 2
    assert events[-1]["top5"] == 0.95
    assert all(event["seconds"] >= 0 for event in events[:-1])


def test_a_script_alone_runs_and_leaves_nothing(tmp_path: Path) -> None:
    done = run_script(tmp_path)
    assert (done.stdout, done.stderr) == ("trained\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's always full device")
def test_a_full_disk_costs_one_warning_and_not_the_training(tmp_path: Path) -> None:
    done = run_script(tmp_path, PRUMO_JOURNAL="/dev/full")
    assert done.stdout == "trained\n"
    assert done.stderr.count("No space left on device; nothing more is recorded") == 1


def test_steps_and_epochs_are_timed_from_call_to_call(tmp_path: Path) -> None:
    clock = Clock()
    file = tmp_path / "events.jsonl"
    probe = Probe(str(file), clock)
    clock.now += 50
    probe.start()
    for seconds in (2.0, 3.0):
        clock.now += seconds
        probe.step()
    clock.now += 1
    probe.epoch()
    clock.now += 4
    probe.step()
    probe.epoch()
    assert [event["seconds"] for event in journal(file)] == [2.0, 3.0, 6.0, 4.0, 4.0]


def test_seconds_that_the_script_measured_itself_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    Probe(str(file), Clock()).step(seconds=0.25)
    assert journal(file)[0]["seconds"] == 0.25


def test_numbers_of_numpy_are_taken_and_absent_ones_left_out(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    Probe(str(file)).step(loss=np.float32(0.5), images=8)
    Probe(str(file)).step(loss=np.array(float("nan")))
    first, second = journal(file)
    assert (first["loss"], first["images"]) == (0.5, 8)
    assert second["not_finite"] == ["loss"]
    assert "images" not in second


def test_a_metric_cannot_take_the_name_of_an_events_own_field(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a metric cannot be named time"):
        Probe(str(tmp_path / "events.jsonl")).metric(time=1.0)
