"""Studies on SageMaker, against moto's server and a fake of the runtime over real HTTP."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prumo_endpoint.ledger import Ledger, Resource
from prumo_endpoint.load.request_table import REQUESTS_FILE, read_requests
from prumo_endpoint.sagemaker import session
from prumo_endpoint.sagemaker.preflight import Costs
from prumo_endpoint.sagemaker.resources import ENDPOINT
from support.command_study import records, verdicts
from support.fake_sagemaker import ROLE, FakeAws, fake_aws

if TYPE_CHECKING:
    from conftest import Prumo

QUOTA = "ml.m5.xlarge for endpoint usage"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with fake_aws() as fake:
        for name, value in fake.environment.items():
            monkeypatch.setenv(name, value)
        fake.quotas = {QUOTA: 2.0, "Memory size in MB per serverless endpoint": 3072.0}
        fake.push_image("served:1", "amd64")
        yield fake


def write_study(folder: Path, **changes: Any) -> Path:
    (folder / "model").mkdir(exist_ok=True)
    (folder / "model" / "weights").write_bytes(b"w" * 1000)
    study = {
        "name": "cloud",
        "workload": {"kind": "requests"},
        "factors": {"experiment": ["real-time"], "machine": ["m5", "2gb"]},
        "fixed": {
            "target": "sagemaker",
            "model": "model",
            "image": "served:1",
            "execution_role": ROLE,
            "requests": 5,
            "interval_seconds": 0.02,
            "most_lateness_share": 100,
        },
        "machines": {
            "m5": {"price": "sagemaker/ml.m5.xlarge@us-east-1"},
            "2gb": {"price": "sagemaker/serverless-2gb@us-east-1"},
        },
        "order": "listed",
        "replications": 2,
        "measure": {"sample_seconds": 0.5, "stop_seconds": 2},
    }
    for key, value in changes.items():
        study[key] = {**study[key], **value} if isinstance(value, dict) else value  # type: ignore[dict-item]  # sections are mappings
    path = folder / "study.yaml"
    path.write_text(json.dumps(study))
    return path


@pytest.mark.slow
def test_a_study_creates_its_endpoints_asks_them_and_leaves_nothing(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws
) -> None:
    result = prumo_here("run", write_study(tmp_path), "--results", "results", "--yes")

    assert result.returncode == 0, result.stdout + result.stderr
    assert set(verdicts(tmp_path / "results").values()) == {"finished"}
    assert aws.resources() == []
    ledger = Ledger(tmp_path / "results" / "sagemaker.jsonl")
    assert ledger.remaining() == []
    kinds = [entry.resource.kind for entry in ledger.entries() if entry.state == "created"]
    # One per configuration, not per run; one upload, since the model is the same.
    assert sorted(kinds) == sorted(
        ["s3-bucket", "s3-object", *["sagemaker-model", "sagemaker-endpoint"] * 2]
        + ["sagemaker-endpoint-config"] * 2
    )
    found = records(tmp_path / "results")
    rows = read_requests(tmp_path / "results" / "runs" / "C02-r1" / REQUESTS_FILE)
    assert [row.outcome for row in rows] == ["answered"] * 5
    metrics = found["C02-r1"]["metrics"]
    assert metrics["model_latency_seconds"] == pytest.approx(0.005)
    assert metrics["model_setup_seconds"] == pytest.approx(0.2)
    assert metrics["cloudwatch_missing"] == 0
    # What the first run has met is not cold for the second.
    later = read_requests(tmp_path / "results" / "runs" / "C02-r2" / REQUESTS_FILE)
    assert [row.is_cold for row in rows] == [True, *[False] * 4]
    assert [row.is_cold for row in later] == [False] * 5
    assert "price: up to $" in result.stdout
    assert "spent on SageMaker: about $" in result.stdout
    report = prumo_here("report", "results")
    assert "CloudWatch" in report.stdout, report.stdout


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_controller_that_is_killed_or_interrupted_leaves_nothing(
    tmp_path: Path, aws: FakeAws, number: signal.Signals
) -> None:
    study = write_study(tmp_path, fixed={"requests": 1000, "interval_seconds": 0.2})
    process = subprocess.Popen(
        [sys.executable, "-m", "prumo", "run", str(study), "--yes", "--results", "results"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    table = tmp_path / "results" / "runs" / "C01-r1" / REQUESTS_FILE
    while not (table.exists() and table.read_text().count("\n") > 2):
        assert process.poll() is None
        time.sleep(0.05)
    assert aws.resources()
    os.kill(process.pid, number)
    stdout, _ = process.communicate(timeout=60)

    ledger = Ledger(tmp_path / "results" / "sagemaker.jsonl")
    until = time.monotonic() + 30
    while ledger.remaining() and time.monotonic() < until:
        time.sleep(0.2)
    assert aws.resources() == []
    assert ledger.remaining() == []
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "stopped; everything that finished is kept" in stdout


@pytest.mark.slow
def test_the_study_stops_when_the_money_is_spent_and_goes_on_with_more(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws
) -> None:
    study = write_study(tmp_path, factors={"machine": ["m5"]}, fixed={"requests": 2})
    refused = prumo_here("run", study, "--results", "results", "--yes", "--max-cost", "0.01")
    assert refused.returncode == 2
    assert "more than --max-cost 0.01" in refused.stderr
    assert aws.resources() == []

    # Half an hour that an earlier session has paid for.
    folder = tmp_path / "results"
    earlier = Resource(ENDPOINT, "old", "us-east-1", tags={"usd_per_hour": "0.23"})
    lines = [
        {"time": f"2026-01-01T00:{minute}:00+00:00", "state": state, "usd": 0, **asdict(earlier)}
        for minute, state in (("00", "created"), ("30", "deleted"))
    ]
    (folder / "sagemaker.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    stopped = prumo_here("run", study, "--results", "results", "--yes", "--max-cost", "0.15")
    assert stopped.returncode == 2
    assert "already spent" in stopped.stdout
    assert "more than --max-cost 0.15" in stopped.stderr

    result = prumo_here("run", study, "--results", "results", "--yes", "--max-cost", "0.5")
    assert result.returncode == 0, result.stdout + result.stderr
    assert aws.resources() == []


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "most_usd"), [("m5", "0.0005"), ("2gb", "0.00003")])
def test_money_that_runs_out_in_the_middle_of_a_run_stops_it(
    prumo_here: Prumo,
    tmp_path: Path,
    aws: FakeAws,
    monkeypatch: pytest.MonkeyPatch,
    machine: str,
    most_usd: str,
) -> None:
    aws.answer_seconds = 0.05
    study = write_study(
        tmp_path, factors={"machine": [machine]}, fixed={"requests": 400, "interval_seconds": 0.1}
    )
    monkeypatch.setattr(Costs, "total_usd", 0.0)
    monkeypatch.setattr(Costs, "run_usd", lambda *_: 0.0)
    monkeypatch.setattr(session, "CREATION_SECONDS", 0.0)
    result = prumo_here("run", study, "--results", "results", "--yes", "--max-cost", most_usd)

    assert result.returncode == 2, result.stdout + result.stderr
    assert "the current run was stopped; everything that finished is kept" in result.stderr
    assert len(aws.bodies) < 400
    assert aws.bodies or machine == "m5"
    assert Ledger(tmp_path / "results" / "sagemaker.jsonl").spent_usd() > float(most_usd)
    assert verdicts(tmp_path / "results") == {"C01-r1": "interrupted"}
    assert aws.resources() == []


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"fixed": {"image": "absent:1"}}, "there is no image"),
        ({"fixed": {"image": "arm:1"}}, "is built for arm64, and ml.m5.xlarge needs amd64"),
        ({"machines": {"2gb": {"price": "sagemaker/serverless-6gb@us-east-1"}}}, "is 3072"),
        ({"order": "randomized"}, "the quota 'ml.m5.xlarge for endpoint usage' is 0"),
        ({"workload": {"payload": "large.jpg"}}, "a serverless endpoint takes 4 MB"),
        ({}, "need your yes, or --yes"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_created(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws, changes: dict[str, Any], complaint: str
) -> None:
    aws.push_image("arm:1", "arm64")
    if "order" in changes:
        aws.quotas[QUOTA] = 0.0
    (tmp_path / "large.jpg").write_bytes(b"0" * (5 << 20))
    result = prumo_here("run", write_study(tmp_path, **changes), "--results", "results")

    assert result.returncode == 2
    assert complaint in result.stderr
    assert aws.resources() == []
    assert not (tmp_path / "results" / "sagemaker.jsonl").exists()


def test_without_credentials_nothing_starts(
    prumo_here: Prumo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    result = prumo_here("run", write_study(tmp_path), "--results", "results", "--yes")

    assert result.returncode == 2
    assert "there are no AWS credentials" in result.stderr


@pytest.mark.parametrize(
    ("fixed", "complaint"),
    [
        ({"execution_role": None}, "needs `execution_role`"),
        ({"memory_mb": 2048}, "one of the two"),
        ({"image": "x:{moon}"}, "'{moon}' is not a parameter"),
        ({"experiment": "cold-start"}, "a real-time endpoint stays warm"),
    ],
)
def test_a_study_that_does_not_say_enough_is_refused_with_its_line(
    prumo_here: Prumo, tmp_path: Path, fixed: dict[str, Any], complaint: str
) -> None:
    study = write_study(tmp_path)
    content = json.loads(study.read_text())
    content["factors"] = {"machine": ["m5"]}
    content["fixed"] |= {"experiment": "real-time", **fixed}
    content["fixed"] = {name: each for name, each in content["fixed"].items() if each is not None}
    study.write_text(json.dumps(content))
    result = prumo_here("plan", study)

    assert result.returncode == 2
    assert complaint in result.stderr
    assert "study.yaml:" in result.stderr
