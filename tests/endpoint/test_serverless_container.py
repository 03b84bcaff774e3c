"""A serverless endpoint whose instances are containers, in a real engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prumo.errors import InputError
from prumo.supervise.guard import GuardedProcess, Order
from prumo_endpoint.load.request_table import REQUESTS_FILE, read_requests
from prumo_endpoint.targets import Target, TargetOptions, chosen_target
from prumo_endpoint.targets.container import ContainerTarget
from support.command_study import records
from support.docker_engine import (
    docker_engine,
    image_python,
    import_image,
    missing_program,
    python_files,
)
from support.endpoint_server import NO_FAULT
from support.requests_study import write_study
from support.serverless_client import ask, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Prumo

pytestmark = [pytest.mark.root, pytest.mark.slow]

SUPPORT = Path(__file__).parent.parent / "support"
SERVER = SUPPORT / "endpoint_server.py"
IMAGE = "small-server"
BRIDGE = "bridge-of-serverless"


@pytest.fixture(scope="module", autouse=True)
def _image() -> Iterator[None]:
    if missing := missing_program():
        pytest.skip(f"{missing} is not installed")
    program = [str(image_python()), "-SE", f"/{SERVER.name}"]
    with docker_engine() as host, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", host)
        model = ["--model", "/opt/ml/model/network.onnx"]
        import_image(IMAGE, python_files(SERVER), json.dumps([*program, *model]))
        subprocess.run(["docker", "network", "create", BRIDGE], check=True, capture_output=True)
        yield
        subprocess.run(["docker", "network", "rm", BRIDGE], check=True, capture_output=True)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "network.onnx").write_text(NO_FAULT)
    return tmp_path


def _endpoint(model: Path, **options: Any) -> Target:
    chosen = {"memory_mb": 256, "cpus": 0.5, "network": "host", **options}
    return chosen_target([f"serverless://{IMAGE}"], options=TargetOptions(model=model, **chosen))


@pytest.mark.parametrize("network", ["host", BRIDGE])
def test_a_container_starts_on_demand_and_is_gone_after_a_stop(model: Path, network: str) -> None:
    with _endpoint(model, network=network).running() as server:
        assert server.instances is not None
        assert _containers() == []
        first, warm = ask(server), ask(server)
        (container,) = _containers()
        limits = _inspected(container)["HostConfig"]
        server.instances.stop_idle()
        assert _containers() == []
        second = ask(server)
        boots = server.instances.boots()

    assert _containers() == []
    assert [reply.status for reply in (first, warm, second)] == [200, 200, 200]
    assert [reply.is_cold for reply in (first, warm, second)] == [True, False, True]
    assert [boot.boot_id for boot in boots] == [first.boot_id, second.boot_id]
    assert limits["Memory"] == limits["MemorySwap"] == 256 << 20
    assert limits["CpuQuota"] / limits["CpuPeriod"] == pytest.approx(0.5)
    for boot in boots:
        phases = [boot.start_seconds, boot.listen_seconds, boot.load_seconds]
        assert all(phase is not None and phase > 0 for phase in phases)


def test_an_idle_container_is_stopped(model: Path) -> None:
    with _endpoint(model, idle_seconds=0.2).running() as server:
        assert ask(server).is_cold
        wait_until(lambda: not _containers())
        assert ask(server).is_cold


def test_a_container_without_room_in_memory_is_an_outcome(model: Path) -> None:
    with _endpoint(model, memory_mb=6).running() as server:
        assert server.instances is not None
        reply = ask(server)
        (boot,) = server.instances.boots()

    assert (reply.status, reply.error["kind"]) == (507, "out_of_memory")
    assert boot.failure == "out_of_memory"
    assert _containers() == []


def test_a_container_that_does_not_start_says_what_it_printed(tmp_path: Path) -> None:
    with _endpoint(tmp_path).running() as server:
        reply = ask(server)

    assert (reply.status, reply.error["kind"]) == (500, "start_failed")
    assert reply.error["last_output"] == "there is no model"
    assert _containers() == []


def test_a_model_that_cannot_be_unpacked_is_reported_before_any_request(tmp_path: Path) -> None:
    (tmp_path / "model.tar.gz").write_text("words")
    endpoint = _endpoint(tmp_path / "model.tar.gz")

    with pytest.raises(InputError, match="neither a folder nor"), endpoint.running():
        pass


def test_a_container_that_died_while_idle_is_replaced(model: Path) -> None:
    with _endpoint(model).running() as server:
        first = ask(server)
        subprocess.run(["docker", "kill", *_containers()], check=True, capture_output=True)
        second = ask(server)

    assert second.status == 200
    assert second.boot_id != first.boot_id


CLIENT = """
import sys, time
from pathlib import Path
from prumo_endpoint.targets import TargetOptions, chosen_target
from support.serverless_client import ask
options = TargetOptions(model=Path(sys.argv[2]), memory_mb=256, cpus=0.5, network="host")
with chosen_target([sys.argv[1]], options=options).running() as server:
    ask(server)
    time.sleep(1000)
"""


def test_no_container_outlives_a_client_that_is_killed(model: Path) -> None:
    client = subprocess.Popen(_client(model), env=_client_environment())
    wait_until(_containers)

    client.kill()
    client.wait()

    wait_until(lambda: not _containers())


def test_no_container_outlives_a_run_that_its_guard_ends(model: Path, tmp_path: Path) -> None:
    order = Order(_client(model), str(tmp_path), _client_environment(), str(tmp_path / "log"))
    with GuardedProcess(order):
        wait_until(_containers)

    assert _containers() == []


def test_a_container_that_starts_at_once_can_be_limited_too(model: Path) -> None:
    options = TargetOptions(model=model, memory_mb=256, cpus=0.5, network="host")
    with ContainerTarget(IMAGE, options).running():
        (container,) = _containers()
        limits = _inspected(container)["HostConfig"]

    assert limits["CpuQuota"] / limits["CpuPeriod"] == pytest.approx(0.5)


def test_a_study_asks_a_container_that_has_its_model_and_limits(
    prumo_here: Prumo, model: Path, tmp_path: Path
) -> None:
    study = write_study(
        tmp_path,
        ["real-time"],
        factors={"target": ["container", "serverless"]},
        address=IMAGE,
        # Without it, the server does not start.
        model=str(model),
        container_network="host",
        memory_mb=256,
        cpus=0.5,
        requests=3,
    )
    result = prumo_here("run", study, "--results", "results")

    assert result.returncode == 0, result.stdout + result.stderr
    for name, record in records(tmp_path / "results").items():
        rows = read_requests(tmp_path / "results" / "runs" / name / REQUESTS_FILE)
        assert [row.outcome for row in rows] == ["answered"] * 3
        assert record["metrics"]["model_bytes"] > 0
    assert _containers() == []


def _client(model: Path) -> list[str]:
    return [sys.executable, "-c", CLIENT, f"serverless://{IMAGE}", str(model)]


def _client_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SUPPORT.parent)}


def _containers() -> list[str]:
    listed = ["docker", "ps", "--all", "--quiet"]
    return subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()


def _inspected(container: str) -> dict[str, Any]:
    answer = subprocess.run(
        ["docker", "inspect", container], check=True, capture_output=True, text=True
    )
    facts: dict[str, Any] = json.loads(answer.stdout)[0]
    return facts
