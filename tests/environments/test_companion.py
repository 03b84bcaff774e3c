"""What an environment lacks for a job lies beside it, whole or not at all."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from prumo.environments.framework import LOCKS
from prumo.environments.setup import ensure_companion
from prumo.errors import SetupError

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.environments.store import Environment
    from support.heard_progress import Heard

JOB = "torch-to-files"


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pins of a job, beside those that Prumo brings."""
    folder = tmp_path / "locks"
    (folder / "companions").mkdir(parents=True)
    monkeypatch.setattr("prumo.environments.setup.LOCKS", folder)
    path = folder / "companions" / f"{JOB}.txt"
    path.write_text("jax==8.0.0\n")
    return path


def test_a_companion_is_made_once_and_leaves_the_environment_alone(
    ready: Environment, cache: Path, lock: Path, heard: Heard
) -> None:
    del lock
    folder = ensure_companion(JOB, ready, heard)
    said = len(heard.said)

    assert folder.parent == cache / "companions"
    assert ensure_companion(JOB, ready, heard) == folder
    assert len(heard.said) == said == 1
    assert "No module named 'jax'" in _imported(ready, "").stderr
    assert _imported(ready, str(folder)).stdout.strip() == "8.0.0"


def test_other_pins_make_another_companion(
    ready: Environment, cache: Path, lock: Path, heard: Heard
) -> None:
    before = ensure_companion(JOB, ready, heard)
    lock.write_text("jax==9.0.0\n")

    assert ensure_companion(JOB, ready, heard) != before
    assert len(list((cache / "companions").iterdir())) == 2


def test_what_cannot_be_installed_leaves_nothing_behind(
    ready: Environment, cache: Path, lock: Path, heard: Heard
) -> None:
    lock.write_text("nowhere-to-be-found==1.0\n")

    with pytest.raises(SetupError, match=rf"(?s){JOB}\.txt.*nowhere-to-be-found.*whole log"):
        ensure_companion(JOB, ready, heard)

    assert list((cache / "companions").iterdir()) == []


def test_every_job_has_all_its_packages_pinned() -> None:
    locks = sorted((LOCKS / "companions").glob("*.txt"))

    assert [lock.stem for lock in locks] == ["pytorch-to-onnx", "tensorflow-to-onnx"]
    for lock in locks:
        pins = [line for line in lock.read_text().splitlines() if not line.startswith("#")]
        assert pins
        assert all("==" in pin for pin in pins)


def _imported(environment: Environment, path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment.python, "-c", "import jax; print(jax.__version__)"],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
