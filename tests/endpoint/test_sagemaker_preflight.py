"""Before a study on SageMaker: what it may cost, and what cannot work."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prumo_endpoint.sagemaker.cloudwatch import PATIENCE_SECONDS
from prumo_endpoint.sagemaker.deployment import Deployment
from prumo_endpoint.sagemaker.preflight import (
    ANSWER_SECONDS,
    COLD_ANSWER_SECONDS,
    Costs,
    PlannedRun,
    planned_seconds,
)
from prumo_endpoint.workload import RequestsParameters
from support.fake_sagemaker import ROLE, FakeAws, fake_aws

if TYPE_CHECKING:
    from conftest import Prumo

SERVERLESS = Deployment("us-east-1", "served:1", ROLE, "model", memory_mb=2048, instance_type=None)
USD_PER_SECOND = 0.00004


def planned(**parameters: Any) -> tuple[float, float, float]:
    """Seconds, seconds of answers, and requests of a run with the defaults of a study."""
    return planned_seconds(RequestsParameters(**parameters).model_dump())


def test_a_ramp_is_priced_as_if_all_instances_worked_all_the_time() -> None:
    seconds, busy, _ = planned(
        experiment="ramp", goal_seconds=0.5, rate=100, seconds=30, max_concurrency=7
    )

    assert busy == 7 * 20 * 30
    assert seconds > 20 * 30
    # At a low rate, the requests that the percentile needs take longer than the step.
    slow, *_ = planned(experiment="ramp", goal_seconds=0.5, rate=1, seconds=30)
    assert slow > 130 + 17 * 30


def test_the_pings_of_a_trace_are_priced_like_its_calls(tmp_path: Path) -> None:
    trace = tmp_path / "calls.csv"
    trace.write_text("seconds\n0\n3600\n")
    run = {"experiment": "trace", "trace": str(trace), "trace_speed": 10.0}
    _, alone, calls = planned(**run, keep_warm="never", max_concurrency=1)
    _, kept, sent = planned(**run, keep_warm="ping:4min", max_concurrency=1)

    assert (calls, sent) == (2, 2 + 15)
    # Nothing keeps an instance for an hour, but pings do.
    assert alone == 2 * ANSWER_SECONDS + 2 * COLD_ANSWER_SECONDS
    assert kept == 17 * ANSWER_SECONDS + 1 * COLD_ANSWER_SECONDS


@pytest.mark.parametrize(
    ("parameters", "busy", "requests"),
    [
        ({"experiment": "warm-up"}, 26 + 20, 26),
        ({"experiment": "real-time", "uncounted": 4}, 29 + 20, 29),
        ({"experiment": "cold-start"}, 10 + 200, 10),
        ({"experiment": "burst", "burst_size": 10, "bursts": 2}, 20 + 5 * 20, 20),
        ({"experiment": "open-loop", "rate": 2}, 60 + 5 * 20, 60),
        # Five instances answer no more than this, however many requests come.
        ({"experiment": "open-loop", "rate": 1000}, 5 * (30 + 20), 30_000),
        ({"experiment": "closed-loop", "users": 8}, 5 * 30, 5 * 30 / 0.05),
    ],
)
def test_answers_are_priced_on_the_long_side(
    parameters: dict[str, Any], busy: float, requests: float
) -> None:
    seconds, *found = planned(**parameters)

    assert found == [busy, requests]
    assert seconds > PATIENCE_SECONDS


def test_data_in_and_out_is_part_of_the_price() -> None:
    run = PlannedRun(SERVERLESS, 0.0, busy_seconds=100.0, requests=1000.0)
    costs = Costs([run])
    assert costs.total_usd == pytest.approx(100 * USD_PER_SECOND + 1e7 * 0.016 / 2**30)
    costs.request_bytes = 2_000_000
    assert costs.total_usd == pytest.approx(100 * USD_PER_SECOND + 2.01e9 * 0.016 / 2**30)
    assert costs.used_usd(SERVERLESS, 1.0, 2**30) == pytest.approx(USD_PER_SECOND + 0.016)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with fake_aws() as fake:
        for name, value in fake.environment.items():
            monkeypatch.setenv(name, value)
        fake.push_image("served:1", "amd64")
        yield fake


def write_study(folder: Path, prices: dict[str, str], **fixed: Any) -> Path:
    (folder / "model").write_bytes(b"w")
    study = {
        "name": "cloud",
        "workload": {"kind": "requests"},
        "factors": {"machine": list(prices)},
        "fixed": {
            "target": "sagemaker",
            "experiment": "real-time",
            "model": "model",
            "image": "served:1",
            "execution_role": ROLE,
            **fixed,
        },
        "machines": {name: {"price": price} for name, price in prices.items()},
    }
    path = folder / "study.yaml"
    path.write_text(json.dumps(study))
    return path


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        (
            {"m5": "sagemaker/ml.m5.xlarge@us-east-1", "c5": "sagemaker/ml.c5.xlarge@us-east-1"},
            # Of both, which stand at the same time where the runs take turns.
            ["up to $0.43 an hour, $10.42 a day, until `prumo endpoint clean`"],
        ),
        (
            {"2gb": "sagemaker/serverless-2gb@us-east-1"},
            [
                "it assumes answers of 1 s and cold starts of 20 s; --max-cost also stops a run",
                "serverless endpoints remain, which cost nothing while nobody asks",
            ],
        ),
    ],
)
def test_the_worst_bill_and_what_the_price_assumes_are_said_before_anything_is_created(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws, prices: dict[str, str], said: list[str]
) -> None:
    study = write_study(tmp_path, prices)
    content = json.loads(study.read_text()) | {"replications": 2, "order": "interleaved"}
    study.write_text(json.dumps(content))
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 2
    assert "price: up to $" in result.stdout
    for sentence in said:
        assert sentence in result.stdout
    assert aws.resources() == []


@pytest.mark.parametrize(
    ("region", "complaint"),
    [
        ("sa-east-1", "there is no image 123456789012.dkr.ecr.sa-east-1.amazonaws.com/served:1"),
        ("us-east-9", "no SageMaker in the region 'us-east-9', as far as this boto3 knows; did"),
    ],
)
def test_a_wrong_region_is_refused_before_anything_is_created(
    prumo_here: Prumo, tmp_path: Path, aws: FakeAws, region: str, complaint: str
) -> None:
    prices = {"2gb": "sagemaker/serverless-2gb@us-east-1"}
    study = write_study(tmp_path, prices, region=region)
    result = prumo_here("run", study, "--results", "results", "--yes")

    assert result.returncode == 2
    assert complaint in result.stderr
    assert aws.resources() == []
