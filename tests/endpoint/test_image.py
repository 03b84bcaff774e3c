"""Containers are checked in a real engine, and none is left behind."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prumo.errors import InputError
from prumo.progress import Silent
from prumo_endpoint.bodies import drawn_body
from prumo_endpoint.check import Examination, examine
from prumo_endpoint.rule import KINDS, MB, Verdict
from prumo_endpoint.targets import TargetOptions
from prumo_endpoint.targets.container import ContainerTarget
from support.docker_engine import (
    docker_engine,
    image_python,
    import_image,
    missing_program,
    python_files,
)
from support.endpoint_server import NO_FAULT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.root, pytest.mark.slow]

SERVER = Path(__file__).parent.parent / "support" / "endpoint_server.py"
LIMITS = replace(
    KINDS["serverless"],
    accept_seconds=0.9,
    ping_seconds=20.0,
    open_connections=40,
    payload_bytes=2 * MB,
)
MODEL = "/opt/ml/model/network.onnx"
RIGHT = "right"
SHELL = "behind-a-shell"
BRIDGE = "bridge-of-a-test"
NO_ENTRY_POINT = "no-entry-point"


@pytest.fixture(scope="module", autouse=True)
def _images() -> Iterator[None]:
    if missing := missing_program():
        pytest.skip(f"{missing} is not installed")
    program = [str(image_python()), "-SE", f"/{SERVER.name}"]
    with docker_engine() as host, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", host)
        files = python_files(SERVER)
        import_image(RIGHT, files, json.dumps([*program, "--model", MODEL]))
        # What follows the server keeps the shell from giving its place to it.
        import_image(SHELL, files, f"{' '.join(program)}; true")
        import_image(NO_ENTRY_POINT, {SERVER.name: SERVER})
        subprocess.run(["docker", "network", "create", BRIDGE], check=True, capture_output=True)
        yield
        subprocess.run(["docker", "network", "rm", BRIDGE], check=True, capture_output=True)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """An archive as SageMaker unpacks it."""
    (tmp_path / "network.onnx").write_text(NO_FAULT)
    archive = tmp_path / "model.tar.gz"
    with tarfile.open(archive, "w:gz") as opened:
        opened.add(tmp_path / "network.onnx", "network.onnx")
    return archive


def test_an_image_that_keeps_the_rules_passes_them_all(model: Path) -> None:
    found = _examined(RIGHT, TargetOptions(model=model, memory_mb=256, network=BRIDGE))

    assert _names(found, Verdict.KEPT) == [each.rule.name for each in found.findings]
    assert _containers() == []


def test_a_model_can_be_a_folder_and_is_needed_by_its_server(tmp_path: Path) -> None:
    found = _examined(RIGHT, TargetOptions(model=tmp_path, network="host"))

    assert _names(found, Verdict.BROKEN) == ["start-up"]
    assert _reason(found, "start-up").endswith("it printed: there is no model")


def test_an_image_that_does_not_know_the_word_serve_is_reported() -> None:
    found = _examined(NO_ENTRY_POINT, TargetOptions(network="host"))

    assert _names(found, Verdict.BROKEN) == ["serve"]
    assert "serve" in _reason(found, "serve")
    assert _containers() == []


def test_a_shell_that_keeps_sigterm_for_itself_is_found() -> None:
    found = _examined(SHELL, TargetOptions(network="host"), stop_seconds=0.6)

    assert _names(found, Verdict.BROKEN) == ["entry point"]
    assert "exec form" in _reason(found, "entry point")
    assert _containers() == []


def test_a_container_that_listens_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "network.onnx").write_text("wrong port")

    found = _examined(RIGHT, TargetOptions(model=tmp_path, network=BRIDGE), elsewhere_seconds=0.1)

    assert _names(found, Verdict.BROKEN) == ["port"]


def test_a_container_without_room_in_memory_is_reported() -> None:
    found = _examined(SHELL, TargetOptions(memory_mb=6, network="host"), start_seconds=20.0)

    assert "memory" in _reason(found, "start-up")


def test_an_image_that_is_not_there_is_told_and_never_fetched() -> None:
    with pytest.raises(InputError, match="no image 'nowhere:1' here; build or pull it first"):
        ContainerTarget("nowhere:1", TargetOptions())


def test_a_network_that_docker_does_not_have_is_a_mistake_of_the_input() -> None:
    with pytest.raises(InputError, match=r"Docker cannot run right: .*nowhere"):
        _examined(RIGHT, TargetOptions(network="nowhere"))


def test_no_container_outlives_a_check_that_is_killed() -> None:
    check = subprocess.Popen(
        [sys.executable, "-m", "prumo", "endpoint", "check", "--image", SHELL, "--network", "host"],
        stderr=subprocess.DEVNULL,
    )
    while not _containers():
        assert check.poll() is None
        time.sleep(0.05)

    check.kill()
    check.wait()

    while _containers():
        time.sleep(0.05)


def _examined(image: str, options: TargetOptions, **limits: float) -> Examination:
    changed = replace(LIMITS, **limits)  # type: ignore[arg-type]  # all of these are numbers
    return examine(ContainerTarget(image, options), drawn_body(), changed, Silent())


def _containers() -> list[str]:
    listed = ["docker", "ps", "--all", "--quiet"]
    return subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()


def _names(found: Examination, verdict: Verdict) -> list[str]:
    return [each.rule.name for each in found.findings if each.outcome.verdict is verdict]


def _reason(found: Examination, rule: str) -> str:
    return next(each.outcome.reason for each in found.findings if each.rule.name == rule)
