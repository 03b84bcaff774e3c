"""Prumo is killed at any moment: nothing finished is lost, nothing runs twice, nothing lives on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from typing import TYPE_CHECKING

import psutil

from command_study import records, write_study

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 50
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


def test_fifty_kills_lose_nothing_repeat_nothing_and_leave_nothing_running(tmp_path: Path) -> None:
    command = "echo {run} >> ../ended; setsid sleep 60 & sleep 0.01"
    (tmp_path / "here").mkdir()
    study = write_study(
        tmp_path,
        command,
        workload={"directory": "here"},
        factors=FACTORS,
        replications=2,
        order="interleaved",
    )
    results = tmp_path / "results"
    words = [sys.executable, "-m", "prumo", "run", str(study), "--results", str(results)]
    chance = random.Random(20261115)
    kept: dict[str, bytes] = {}
    moments = []
    for _ in range(KILLS):
        mark = str(uuid.uuid4())
        environment = os.environ | {"PRUMO_TEST_MARK": mark}
        process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
        moments.append(chance.uniform(0.2, 1.8))
        time.sleep(moments[-1])
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert nothing_lives(mark), "processes outlived the killed controller"
        now = finished_files(results)
        assert kept.items() <= now.items(), "a finished run was lost or run again"
        kept = now
    assert 0 < len(kept) < RUNS, "the kills must fall into the middle of the study"
    assert subprocess.run(words, check=False, stdout=subprocess.DEVNULL).returncode == 0
    assert kept.items() <= finished_files(results).items()
    complete = records(results)
    assert len(complete) == RUNS
    assert {record["verdict"] for record in complete.values()} == {"finished"}
    assert {tuple(record["factors"].values()) for record in complete.values()} == {
        (a, b) for a in FACTORS["a"] for b in FACTORS["b"]
    }
    assert {path.name for path in (results / "runs").iterdir()} == set(complete)
