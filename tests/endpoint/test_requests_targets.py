"""What the parameters of a study of requests do to its target, and the ready studies for real."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from prumo_endpoint.experiment import LOAD_FILE, serve_command, target_options
from prumo_endpoint.load.request_table import REQUESTS_FILE, read_requests
from prumo_endpoint.targets import TargetOptions
from support.command_study import records
from support.requests_study import SERVE, write_study

if TYPE_CHECKING:
    from conftest import Prumo

STUDIES = Path(__file__).parents[2] / "studies"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, ""),
        ({"runtime": "openvino"}, "--runtime openvino"),
        ({"stack": "nginx"}, "--stack nginx"),
        ({"batch_wait_ms": 2.5}, "--max-wait-ms 2.5"),
        ({"batch_wait_ms": 0}, "--max-wait-ms 0"),
        # Labels: they choose a model or an address.
        ({"image": "lean", "precision": "int8", "network": "vgg19"}, ""),
    ],
)
def test_prumo_serves_a_model_as_the_factors_say(parameters: dict[str, Any], words: str) -> None:
    command = shlex.join(serve_command({"model": "m", **parameters})[1:])

    assert command == " ".join(f"-m prumo serve m {words} --log-level warning".split())


@pytest.mark.parametrize(
    ("target", "address", "expected"),
    [
        ("process", "serve me", TargetOptions(memory_mb=2048, cpus=3.0)),
        (
            "container",
            "image",
            TargetOptions(memory_mb=2048, cpus=3.0, model=Path("m"), network="host"),
        ),
        (
            "serverless",
            "serve me",
            TargetOptions(memory_mb=2048, cpus_per_gb=1.5, max_concurrency=2, idle_seconds=300.0),
        ),
        (
            "serverless",
            "image",
            TargetOptions(
                memory_mb=2048,
                cpus_per_gb=1.5,
                max_concurrency=2,
                idle_seconds=300.0,
                model=Path("m"),
                network="host",
            ),
        ),
        ("url", "http://x", TargetOptions()),
    ],
)
def test_limits_reach_the_targets_that_keep_them(
    target: str, address: str, expected: TargetOptions
) -> None:
    parameters = {
        "experiment": "real-time",
        "address": address,
        "model": "m",
        "memory_mb": 2048,
        "cpus_per_gb": 1.5,
        "max_concurrency": 2,
        "container_network": "host",
        "idle_timeout_seconds": 300.0,
    }
    assert target_options(target, parameters) == expected


@pytest.mark.slow
@pytest.mark.root
def test_a_local_serverless_endpoint_has_as_many_instances_as_the_study_says(
    prumo_here: Prumo, tmp_path: Path
) -> None:
    study = write_study(
        tmp_path,
        ["burst"],
        target="serverless",
        address=SERVE,
        memory_mb=256,
        cpus=1,
        max_concurrency=1,
        burst_size=3,
        bursts=1,
    )
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 0, result.stdout + result.stderr
    rows = read_requests(tmp_path / "results" / "runs" / "C01-r1" / REQUESTS_FILE)
    assert sorted(row.reason for row in rows) == ["", "throttled", "throttled"]
    assert {row.instance for row in rows if row.is_answered} == {"1"}


@pytest.mark.slow
def test_stacks_and_precisions_of_a_network_are_compared(prumo_here: Prumo, tmp_path: Path) -> None:
    study = write_study(
        tmp_path,
        ["real-time"],
        factors={"stack": ["lean", "nginx"], "precision": ["fp32", "int8"]},
        model="untrained:rede1",
        requests=3,
        batch_wait_ms=1,
    )
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 0, result.stdout + result.stderr
    found = [record["metrics"] for record in records(tmp_path / "results").values()]
    assert [metrics["inferences"] for metrics in found] == [3] * 4
    full, small = found[0]["model_bytes"], found[1]["model_bytes"]
    assert small < full / 2
    assert [metrics["model_bytes"] for metrics in found] == [full, small] * 2


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.parametrize(
    ("name", "scenario", "factors"),
    [
        (
            "ufrgs-memory",
            "C7",
            {"experiment": "cold-start", "network": "dr_mobilenet", "machine": "1gb"},
        ),
        (
            "quantization",
            "C3",
            {"experiment": "warm-up", "network": "dr_mobilenet", "precision": "int8"},
        ),
    ],
)
def test_a_ready_study_runs_here(
    prumo_here: Prumo, tmp_path: Path, name: str, scenario: str, factors: dict[str, str]
) -> None:
    content = YAML(typ="safe").load(STUDIES / f"{name}.yaml")
    content["fixed"] |= {"requests": 2, "most_lateness_share": 100}
    content["replications"] = 1
    (tmp_path / "study.yaml").write_text(json.dumps(content))
    result = prumo_here(
        *("run", "study.yaml", "--scale", "small"),
        *("--scenario", scenario, "--results", "results"),
    )

    assert result.returncode == 0, result.stdout + result.stderr
    ((run, record),) = records(tmp_path / "results").items()
    assert record["factors"] == factors
    assert record["metrics"]["inferences"] == 2
    rows = read_requests(tmp_path / "results" / "runs" / run / REQUESTS_FILE)
    is_cold = [row.is_cold for row in rows if row.phase == "counted"]
    assert is_cold == [factors["experiment"] == "cold-start"] * 2
    boots = json.loads((tmp_path / "results" / "runs" / run / LOAD_FILE).read_text())["boots"]
    assert len(boots) == (2 if all(is_cold) else 1)
    assert all(boot["load_seconds"] > 0 and boot["warm_up_seconds"] > 0 for boot in boots)
