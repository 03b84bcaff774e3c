"""What MXNet alone does; what every framework does is in test_trainers.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prumo_worker.processor import gpu_facts
from support.worker_process import LENET, run_worker, task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Stands in for a GPU that is not here."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")


def test_a_gpu_has_its_name_and_its_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvidia_smi(tmp_path, monkeypatch, 'echo "NVIDIA A100-SXM4-40GB, 550.54.15"')
    assert gpu_facts() == {"name": "NVIDIA A100-SXM4-40GB", "driver": "550.54.15"}


def test_the_gpu_is_the_first_that_cuda_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo_id = 'for word; do case "$word" in --id=*) echo "$word, 1";; esac; done'
    nvidia_smi(tmp_path, monkeypatch, echo_id)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,1")
    assert gpu_facts()["name"] == "--id=3"


@pytest.mark.parametrize("script", ["exit 9", "echo"])
def test_a_program_that_does_not_answer_gives_no_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    nvidia_smi(tmp_path, monkeypatch, script)
    assert gpu_facts() == {}


def test_a_machine_without_the_program_gives_no_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpu_facts() == {}


@pytest.mark.frameworks
def test_the_build_names_the_compiler(
    framework_python: Callable[[str], Path], tmp_path: Path
) -> None:
    parameters = {**LENET, "framework": "mxnet", "images": 64, "epochs": 1}
    run = run_worker(str(framework_python("mxnet")), task(tmp_path, parameters))
    assert run.only("ready")["build"]["compiler"].startswith("GCC: (")
