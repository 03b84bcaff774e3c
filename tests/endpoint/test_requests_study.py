"""Studies of requests from the command line: real servers, real requests, and servers that fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from prumo.study import Study
from prumo_endpoint.load.request_table import REQUESTS_FILE, read_requests
from support.command_study import records, verdicts
from support.endpoint_server import served
from support.model_packages import write_colour_package

if TYPE_CHECKING:
    from conftest import Prumo

SERVER = Path(__file__).parent.parent / "support" / "endpoint_server.py"
QUICK: dict[str, Any] = {
    "requests": 12,
    "interval_seconds": 0.02,
    "seconds": 0.5,
    # What is tested here is not how precise the machine of the test is.
    "most_lateness_share": 100,
}


def write_study(folder: Path, experiments: list[str], **fixed: Any) -> Path:
    study = {
        "name": "asked",
        "workload": {"kind": "requests"},
        "factors": {"experiment": experiments},
        "fixed": QUICK | fixed,
        "order": "listed",
        "measure": {"sample_seconds": 0.5, "stop_seconds": 2},
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study))
    return path


@pytest.mark.slow
def test_the_starter_runs_as_it_is(prumo_here: Prumo, tmp_path: Path) -> None:
    prumo_here("new", "load.yaml", "--kind", "requests")

    done = prumo_here("run", "load.yaml", "--scenario", "C3")

    assert done.returncode in {0, 1}, done.stderr
    # How precise the machine of the test is may make a run invalid; it is no failure.
    found = verdicts(tmp_path / "results" / "load")
    assert found.keys() == {"C03-r1", "C03-r2"}
    assert set(found.values()) <= {"finished", "invalid"}


@pytest.mark.slow
def test_every_kind_of_load_is_put_on_a_model_that_prumo_serves(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    write_colour_package(tmp_path / "colours")
    study = write_study(
        tmp_path,
        ["warm-up", "real-time", "closed-loop", "open-loop", "burst"],
        model="colours",
        rate=40,
        users=3,
        burst_size=4,
        bursts=2,
    )
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 0, result.stdout + result.stderr
    found = records(tmp_path / "results")
    rows = {
        name: read_requests(tmp_path / "results" / "runs" / name / REQUESTS_FILE) for name in found
    }
    assert [row.phase for row in rows["C01-r1"]] == ["uncounted", *["counted"] * 12]
    assert len(rows["C02-r1"]) == 12
    assert len(rows["C05-r1"]) == 8
    for name, record in found.items():
        metrics = record["metrics"]
        assert metrics["inferences"] == sum(row.phase == "counted" for row in rows[name])
        assert metrics["failed_requests"] == 0
        assert 0 < metrics["predict_seconds"] < metrics["latency_seconds"]
        assert metrics["generator_cpu_seconds_per_request"] > 0
    # Too few for a 99th percentile, enough for the median.
    assert "latency_p50_seconds" in found["C02-r1"]["metrics"]
    assert "latency_p99_seconds" not in found["C02-r1"]["metrics"]
    report = prumo_here("report", "results")
    assert "Latency of requests" in report.stdout
    assert "n < 662" in report.stdout
    page = (tmp_path / "results" / "report.html").read_text()
    for figure in ("latency", "timeline"):
        assert f'id="{figure}-title"' in page
    assert "The load generator" in page


@pytest.mark.slow
def test_a_ramp_finds_a_rate_that_a_slow_server_keeps(prumo_here: Prumo, tmp_path: Path) -> None:
    command = f"{sys.executable} {SERVER}"
    study = write_study(
        tmp_path,
        ["ramp"],
        address=command,
        goal_seconds=0.5,
        goal_share=0.5,
        rate=20,
        connections=1,
        arrivals="constant",
    )
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 0, result.stdout + result.stderr
    (record,) = records(tmp_path / "results").values()
    # It works 20 ms on each request, and only one is sent at a time.
    assert 10 < record["metrics"]["highest_rate"] < 60


@pytest.mark.slow
def test_any_experiment_may_begin_with_requests_that_do_not_count(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    with served() as url:
        study = write_study(
            tmp_path, ["closed-loop"], target="url", address=url, uncounted=2, requests=3
        )
        result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 0, result.stdout + result.stderr
    rows = read_requests(tmp_path / "results" / "runs" / "C01-r1" / REQUESTS_FILE)
    assert [row.phase for row in rows] == [*["uncounted"] * 2, *["counted"] * 3]


@pytest.mark.slow
def test_requests_that_fail_keep_their_outcome(prumo_here: Prumo, tmp_path: Path) -> None:
    with served("error on bad body") as url:
        (tmp_path / "broken.jpg").write_bytes(b"no image")
        study = write_study(tmp_path, ["real-time"], target="url", address=url)
        content = json.loads(study.read_text())
        content["workload"]["payload"] = "broken.jpg"
        study.write_text(json.dumps(content))
        result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 1
    assert "no request was answered: 12 refused" in result.stdout + result.stderr
    rows = read_requests(tmp_path / "results" / "runs" / "C01-r1" / REQUESTS_FILE)
    assert {(row.outcome, row.status) for row in rows} == {("refused", 500)}


@pytest.mark.slow
def test_a_server_that_dies_loses_no_row_and_the_sequence_stops_when_asked(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    command = f"{sys.executable} {SERVER} --fault 'death by bad body'"
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "b.jpg").write_bytes(b"no image")
    study = write_study(
        tmp_path, ["real-time"], address=command, requests=500, stop_after_failures=5
    )
    content = json.loads(study.read_text())
    content["workload"]["payload"] = "images"
    study.write_text(json.dumps(content))
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 1
    rows = read_requests(tmp_path / "results" / "runs" / "C01-r1" / REQUESTS_FILE)
    assert 5 <= len(rows) < 500
    assert {row.outcome for row in rows} <= {"closed", "unreachable"}


def test_a_server_that_never_starts_is_a_verdict(prumo_here: Prumo, tmp_path: Path) -> None:
    study = write_study(
        tmp_path, ["real-time"], address=f"{sys.executable} {SERVER} --fault 'crash on start'"
    )
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 1
    assert verdicts(tmp_path / "results") == {"C01-r1": "crashed"}
    assert "there is no model" in result.stdout + result.stderr


def test_a_generator_that_is_late_makes_a_run_invalid(prumo_here: Prumo, tmp_path: Path) -> None:
    with served() as url:
        study = write_study(
            tmp_path, ["real-time"], target="url", address=url, most_lateness_share=1e-9
        )
        result = prumo_here("run", study, "--results", "results")

    assert verdicts(tmp_path / "results") == {"C01-r1": "invalid"}
    assert "the load generator was late" in result.stdout + result.stderr
    # What was measured is kept all the same.
    assert len(read_requests(tmp_path / "results" / "runs" / "C01-r1" / REQUESTS_FILE)) == 12


@pytest.mark.slow
def test_an_interrupted_study_leaves_no_server_and_resumes(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    write_colour_package(tmp_path / "colours")
    study = write_study(
        tmp_path, ["real-time", "burst"], model="colours", interval_seconds=0.1, requests=40
    )
    command = [sys.executable, "-m", "prumo", "run", str(study)]
    process = subprocess.Popen(
        [*command, "--results", str(tmp_path / "results")], stdout=subprocess.DEVNULL
    )
    table = tmp_path / "results" / "runs" / "C01-r1" / REQUESTS_FILE
    while not (table.exists() and table.read_text().count("\n") > 3):
        assert process.poll() is None
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGINT)
    process.wait(30)

    assert process.returncode == 130
    assert not [child for child in children if child.is_running()]
    result = prumo_here("run", study, "--results", "results")
    assert result.returncode == 0, result.stdout + result.stderr
    assert verdicts(tmp_path / "results") == {"C01-r1": "finished", "C02-r1": "finished"}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"fixed": {"model": "m"}}, "open-loop needs `rate`"),
        ({"fixed": {"rate": 1}}, "give the `model` that is served"),
        ({"fixed": {"rate": 1, "model": "absent"}}, "there is nothing at"),
        (
            {"fixed": {"rate": 1, "model": "untrained:rede1", "precision": "int3"}},
            "'int3' is not one of",
        ),
        ({"fixed": {"rate": 1, "target": "moon", "model": "m"}}, "unknown target 'moon'"),
        ({"fixed": {"rate": 1, "address": "{moon}"}}, "'{moon}' is not a parameter"),
        ({"fixed": {"rate": 1, "address": "{"}}, "Single '{' encountered"),
        ({"fixed": {"rate": 1, "address": "{seed:x}"}}, "'{seed}' is not a parameter"),
        ({"fixed": {"rate": 1, "address": "x {precision}"}}, "'{precision}' has no value"),
        ({"fixed": {"rate": 1, "target": "url", "model": "m"}}, "needs an `address`"),
        (
            {"factors": {"experiment": ["cold-start"]}, "fixed": {"address": "x"}},
            "a process is started once and stays warm",
        ),
        ({"fixed": {"rate": -1, "model": "m"}}, "should be more than 0"),
        (
            {
                "fixed": {"rate": 1, "address": "http://x"},
                "workload": {"kind": "requests", "payload": "absent"},
            },
            "there is nothing at",
        ),
    ],
)
def test_a_study_that_cannot_work_is_refused_with_its_line(
    prumo_here: Prumo, tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    study = write_study(tmp_path, ["open-loop"])
    study.write_text(json.dumps(json.loads(study.read_text()) | changes))
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 2, result.stdout + result.stderr
    assert complaint in result.stdout + result.stderr
    assert "study.yaml:" in result.stdout + result.stderr


def test_the_price_of_a_machine_implies_its_memory_or_instance(tmp_path: Path) -> None:
    study = write_study(tmp_path, ["real-time"], address="http://localhost:1", target="url")
    content = json.loads(study.read_text())
    content["factors"]["machine"] = ["2gb", "large"]
    content["machines"] = {
        "2gb": {"price": "sagemaker/serverless-2gb@us-east-1"},
        "large": {"price": "sagemaker/ml.c5.large@us-east-1"},
    }
    study.write_text(json.dumps(content))
    serverless, instance = (each.parameters for each in Study.load(study).scenarios())

    assert serverless["memory_mb"] == 2048
    assert instance["instance_type"] == "ml.c5.large"
