"""Policies that keep a real endpoint warm, against what the simulation says they do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prumo.errors import InputError
from prumo_endpoint.keep_warm.live import KeptWarm, policy_named, predicted_cold_calls
from prumo_endpoint.keep_warm.times import AnswerTimes
from prumo_endpoint.load.request_table import PING, REQUESTS_FILE, read_requests
from prumo_endpoint.traces import Arrivals
from support.command_study import records

if TYPE_CHECKING:
    from conftest import Prumo

SERVER = Path(__file__).parent.parent / "support" / "endpoint_server.py"
IDLE_SECONDS = 600.0


def busy_days(seed: int) -> Arrivals:
    gaps = np.random.default_rng(seed).exponential(900.0, 150)
    seconds = np.cumsum(gaps)
    return Arrivals(seconds, float(seconds[-1]), second_of_day=30_000.0)


@pytest.mark.parametrize(
    "name", ["never", "ping:5min", "schedule:8-18", "hybrid-histogram", "forecast:20"]
)
def test_a_policy_that_sees_calls_as_they_come_sends_the_pings_of_the_simulation(name: str) -> None:
    arrivals, policy, speed = busy_days(seed=3), policy_named(name), 60.0
    schedule = KeptWarm(arrivals, policy, IDLE_SECONDS, speed)
    sent = []
    while (due := schedule.due()) is not None:
        schedule.take()
        sent.append(due * speed)

    times, is_ping = np.array(sent), np.array(schedule.is_ping)
    np.testing.assert_allclose(times[~is_ping], arrivals.seconds)
    np.testing.assert_allclose(times[is_ping], policy.pings(arrivals, IDLE_SECONDS))
    assert is_ping.any() == (name != "never")


def test_a_fast_replay_is_predicted_with_the_times_that_answers_really_take() -> None:
    arrivals = Arrivals(np.array([0.0, 500.0, 1200.0]), 1200.0)
    never = policy_named("never")

    quick = predicted_cold_calls(arrivals, never, AnswerTimes([1.0], [0.1]), IDLE_SECONDS)
    slow = predicted_cold_calls(arrivals, never, AnswerTimes([6.0], [0.1]), IDLE_SECONDS, 100.0)

    # The third call comes 700 s after the second; in the replay the second meets a busy instance.
    assert (quick, slow) == (2, 2)


@pytest.mark.parametrize("name", ["", "ping", "ping:", "ping:5", "ping:0.1s", "schedule:8-30"])
def test_a_name_that_is_no_policy_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"right is never|is not a time|cannot be simulated"):
        policy_named(name)


def write_study(folder: Path, *policies: str) -> Path:
    (folder / "calls.csv").write_text("seconds\n0\n50\n100\n")
    study = {
        "name": "kept-warm",
        "workload": {"kind": "requests"},
        "factors": {"keep_warm": list(policies)},
        "fixed": {
            "experiment": "trace",
            "target": "serverless",
            "address": f"{sys.executable} {SERVER}",
            "memory_mb": 256,
            "trace": "calls.csv",
            "trace_speed": 10,
            "idle_timeout_seconds": 20,
            "most_lateness_share": 100,
        },
        "machines": {"here": {"price": "sagemaker/serverless-1gb@us-east-1"}},
        "cost": {"of": "inference", "metric": "billed_seconds"},
        "order": "listed",
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study))
    return path


@pytest.mark.slow
def test_pings_keep_a_real_endpoint_warm_as_predicted_and_are_billed(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    study = write_study(tmp_path, "never", "ping:5s")
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 0, result.stdout + result.stderr
    never, kept = (each["metrics"] for each in records(tmp_path / "results").values())
    assert (never["cold_answers"], never["predicted_cold_answers"]) == (3, 3)
    assert "pings" not in never
    assert (kept["cold_answers"], kept["predicted_cold_answers"]) == (1, 1)
    # Every 5 s up to 95; at the very moment of a call none is needed.
    assert kept["pings"] == 18
    rows = read_requests(tmp_path / "results" / "runs" / "C02-r1" / REQUESTS_FILE)
    assert sum(row.phase == PING for row in rows) == 18
    assert kept["inferences"] == kept["requests"] == 3
    answered = sum(row.service_seconds for row in rows if row.phase != PING)
    assert kept["billed_seconds"] > answered > 0
    shown = prumo_here("report", "results", "--metric", "pings")
    assert shown.returncode == 0, shown.stderr


def test_a_study_with_an_unknown_policy_is_refused_with_its_line(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    result = prumo_here("run", write_study(tmp_path, "pong:5min"), "--results", "results")

    assert result.returncode == 2
    assert "right is never, ping:5min" in result.stdout + result.stderr
    assert "study.yaml:" in result.stdout + result.stderr
