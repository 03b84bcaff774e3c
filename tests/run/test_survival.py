"""Prumo is killed at any moment: nothing finished is lost, nothing runs twice, nothing lives on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from itertools import count
from typing import TYPE_CHECKING

import psutil
import pytest

from support.command_study import records, write_study

if TYPE_CHECKING:
    from pathlib import Path

FACTORS = {"a": list(range(12)), "b": list(range(8))}
RUNS = 12 * 8 * 2


def processes_with(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("PRUMO_TEST_MARK") == mark:
                found.append(process)
        except psutil.Error:
            continue
    return found


def nothing_lives(mark: str) -> bool:
    for _ in range(200):
        if not processes_with(mark):
            return True
        time.sleep(0.05)
    return False


def finished_files(results: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in results.glob("runs/*/run.json")}


@pytest.mark.parametrize("most", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_kills_lose_nothing_repeat_nothing_and_leave_nothing_running(
    tmp_path: Path, most: int
) -> None:
    study = write_study(
        tmp_path,
        "setsid sleep 60 & sleep 0.01",
        factors=FACTORS,
        replications=2,
        order="interleaved",
    )
    chance = random.Random(20261115)
    kills = 0
    for attempt in count():
        results = tmp_path / f"results{attempt}"
        kills += kill_again_and_again(study, results, most - kills, chance)
        if kills == most:
            break
    kept = finished_files(results)
    assert run(study, results).wait() == 0
    assert kept.items() <= finished_files(results).items()
    complete = records(results)
    assert len(complete) == RUNS
    assert {record["verdict"] for record in complete.values()} == {"finished"}
    assert {tuple(record["factors"].values()) for record in complete.values()} == {
        (a, b) for a in FACTORS["a"] for b in FACTORS["b"]
    }
    assert {path.name for path in (results / "runs").iterdir()} == set(complete)


def kill_again_and_again(study: Path, results: Path, most: int, chance: random.Random) -> int:
    """Start and kill until the study is complete or this many kills fell into it."""
    kept: dict[str, bytes] = {}
    for kills in range(most):
        mark = str(uuid.uuid4())
        process = run(study, results, PRUMO_TEST_MARK=mark)
        time.sleep(chance.uniform(0.2, 1.8))
        process.send_signal(signal.SIGKILL)
        completed = process.wait() == 0
        assert nothing_lives(mark), "processes outlived the killed controller"
        now = finished_files(results)
        assert kept.items() <= now.items(), "a finished run was lost or run again"
        kept = now
        if completed:
            return kills
    return most


def run(study: Path, results: Path, **variables: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "prumo", "run", str(study), "--results", str(results)],
        env=os.environ | variables,
        stdout=subprocess.DEVNULL,
    )
