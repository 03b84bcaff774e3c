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
from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.load.request_table import REQUESTS_FILE, read_requests
from support.command_study import records, verdicts
from support.endpoint_server import served
from support.model_packages import write_colour_package
from support.raw_server import answering, raw_server
from support.requests_study import SERVE, write_study

if TYPE_CHECKING:
    from conftest import Prumo


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
    study = write_study(
        tmp_path,
        ["ramp"],
        address=SERVE,
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
        study = write_study(
            tmp_path, ["real-time"], payload="broken.jpg", target="url", address=url
        )
        result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 1
    assert "no request was answered: 12 refused" in result.stdout + result.stderr
    rows = read_requests(tmp_path / "results" / "runs" / "C01-r1" / REQUESTS_FILE)
    assert {(row.outcome, row.status) for row in rows} == {("refused", 500)}


@pytest.mark.slow
@pytest.mark.parametrize("stop_after_failures", [None, 3])
def test_a_server_that_dies_in_mid_sequence_loses_no_row(
    prumo_here: Prumo, tmp_path: Path, stop_after_failures: int | None
) -> None:
    (tmp_path / "images").mkdir()
    for name in "abc":
        (tmp_path / "images" / f"{name}.jpg").write_bytes(drawn_body().content)
    (tmp_path / "images" / "d.jpg").write_bytes(b"no image")
    configured: dict[str, Any] = (
        {} if stop_after_failures is None else {"stop_after_failures": stop_after_failures}
    )
    study = write_study(
        tmp_path,
        ["real-time"],
        payload="images",
        address=f"{SERVE} --fault 'death by bad body'",
        requests=60,
        **configured,
    )
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 0, result.stdout + result.stderr
    rows = read_requests(tmp_path / "results" / "runs" / "C01-r1" / REQUESTS_FILE)
    assert [row.outcome for row in rows[:3]] == ["answered"] * 3
    assert {row.outcome for row in rows[3:]} <= {"closed", "unreachable"}
    assert len(rows) == (60 if stop_after_failures is None else 6)
    (record,) = records(tmp_path / "results").values()
    assert record["metrics"]["inferences"] == 3
    assert record["metrics"]["failed_requests"] == len(rows) - 3


@pytest.mark.slow
@pytest.mark.root
def test_a_request_is_cold_after_a_forced_stop_and_after_an_idle_gap(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    study = write_study(
        tmp_path,
        ["cold-start"],
        factors={"force_stop": [True, False]},
        target="serverless",
        address=SERVE,
        memory_mb=256,
        cpus=1,
        requests=3,
        idle_timeout_seconds=0.1,
        idle_seconds=1,
    )
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 0, result.stdout + result.stderr
    for record in records(tmp_path / "results").values():
        assert record["metrics"]["cold_answers"] == record["metrics"]["requests"] == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b'{"boot_id":"same"}', "3 answered by a start that had answered before"),
        (b"{}", "3 without a boot id in the answer"),
    ],
)
def test_requests_that_are_not_proven_cold_make_a_run_invalid(
    prumo_here: Prumo, tmp_path: Path, answer: bytes, reason: str
) -> None:
    with raw_server(
        answering(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(answer), answer))
    ) as address:
        study = write_study(
            tmp_path, ["cold-start"], target="url", address=str(address), requests=3, idle_seconds=0
        )
        result = prumo_here("run", study, "--results", "results")

    assert verdicts(tmp_path / "results") == {"C01-r1": "invalid"}
    assert f"3 of 3 requests were not proven cold: {reason}" in result.stdout + result.stderr


@pytest.mark.slow
@pytest.mark.root
def test_an_idle_gap_that_is_too_short_makes_a_run_invalid(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    study = write_study(
        tmp_path,
        ["cold-start"],
        target="serverless",
        address=SERVE,
        memory_mb=256,
        requests=3,
        force_stop=False,
        idle_seconds=0.1,
    )
    result = prumo_here("run", study, "--results", "results")

    assert verdicts(tmp_path / "results") == {"C01-r1": "invalid"}
    assert "2 of 3 requests were not proven cold" in result.stdout + result.stderr


@pytest.mark.slow
def test_a_trace_is_sent_at_its_times(prumo_here: Prumo, tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text("seconds\n0\n0.6\n0.6\n1.5\n")
    with served() as url:
        study = write_study(
            tmp_path, ["trace"], target="url", address=url, trace="calls.csv", trace_speed=3
        )
        result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 0, result.stdout + result.stderr
    rows = read_requests(tmp_path / "results" / "runs" / "C01-r1" / REQUESTS_FILE)
    first = rows[0].due_seconds
    assert [row.due_seconds - first for row in rows] == pytest.approx([0, 0.2, 0.2, 0.5])
    assert {row.outcome for row in rows} == {"answered"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("seconds\n0\n-3\n", "calls.csv:3: seconds is '-3'; no time is before the start"),
        ("size,colour\n1,2\n", "calls.csv:1: has none of the columns arrival_seconds"),
        ("seconds\n1\n0\n", "calls.csv:3: seconds is earlier than in the line before"),
        ("seconds\n", "calls.csv: has no calls"),
        ("seconds\n" + "1\n" * 1_000_001, "a run sends at most 1,000,000 requests"),
    ],
)
def test_a_bad_trace_is_refused_before_any_run(
    prumo_here: Prumo, tmp_path: Path, content: str, complaint: str
) -> None:
    (tmp_path / "calls.csv").write_text(content)
    study = write_study(tmp_path, ["trace"], address=SERVE, trace="calls.csv")
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 2, result.stdout + result.stderr
    assert complaint in result.stdout + result.stderr
    assert not records(tmp_path / "results")


def test_a_server_that_never_starts_is_a_verdict(prumo_here: Prumo, tmp_path: Path) -> None:
    study = write_study(tmp_path, ["real-time"], address=f"{SERVE} --fault 'crash on start'")
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
@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_an_interrupted_study_leaves_no_server_and_resumes(
    prumo_here: Prumo, tmp_path: Path, ending: signal.Signals, code: int
) -> None:
    write_colour_package(tmp_path / "colours")
    study = write_study(
        tmp_path, ["burst", "real-time"], model="colours", interval_seconds=0.1, requests=40
    )
    command = [sys.executable, "-m", "prumo", "run", str(study)]
    process = subprocess.Popen(
        [*command, "--results", str(tmp_path / "results")], stdout=subprocess.DEVNULL
    )
    table = tmp_path / "results" / "runs" / "C02-r1" / REQUESTS_FILE
    while not (table.exists() and table.read_text().count("\n") > 3):
        assert process.poll() is None
        time.sleep(0.05)
    children = psutil.Process(process.pid).children(recursive=True)
    before = records(tmp_path / "results")["C01-r1"]
    os.kill(process.pid, ending)
    process.wait(30)

    assert process.returncode == code
    # Who is killed waits for nobody; what it started ends all the same.
    assert not psutil.wait_procs(children, 30)[1]
    result = prumo_here("run", study, "--results", "results")
    assert result.returncode == 0, result.stdout + result.stderr
    assert verdicts(tmp_path / "results") == {"C01-r1": "finished", "C02-r1": "finished"}
    assert records(tmp_path / "results")["C01-r1"] == before
    assert len(read_requests(table)) == 40


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
        ({"fixed": {"rate": 9, "seconds": 1e6, "address": "x"}}, "at most 1,000,000 requests"),
        *(
            ({"fixed": {"rate": 1, **fixed}}, complaint)
            for fixed, complaint in (
                ({"target": "url", "address": "http://x", "memory_mb": 1}, "`memory_mb` does not"),
                ({"target": "url", "address": "http://x", "cpus": 1}, "`cpus` does not fit"),
                ({"address": "x", "max_concurrency": 2}, "`max_concurrency` does not fit a comm"),
                ({"address": "x", "stack": "lean"}, "`stack` is of Prumo's server"),
                ({"address": "x", "model": "m"}, "write `{model}` there"),
                ({"address": "x", "cpus_per_gb": 1}, "`cpus_per_gb` needs `memory_mb`"),
                ({"address": "x", "cpus_per_gb": 1, "cpus": 1, "memory_mb": 1}, "not both"),
                ({"address": "x", "container_network": "host"}, "`container_network` does not"),
                (
                    {"target": "serverless", "address": "a b", "container_network": "host"},
                    "`container_network` is of containers",
                ),
            )
        ),
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
