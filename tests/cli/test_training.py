"""A training study from its file to its report, with the real PyTorch."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.command_study import records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Prumo = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("pytorch_python")]

STUDY = """\
name: small
workload:
  kind: training
  data:
    digits: digits
factors:
  environment: [here, there]
  dataset: [generated, digits]
machines:
  here: {device: cpu, price: azure/Standard_F4s_v2@eastus}
  there: {device: cuda, price: azure/Standard_NC4as_T4_v3@eastus}
fixed: {network: lenet5, image_size: 28, images: 40, batch_size: 16, epochs: 2}
measure: {sample_seconds: 0.1, warmup_steps: 2}
"""


def write_study(folder: Path) -> Path:
    """A study over generated images and an IDX folder, on a CPU and on a GPU."""
    data = folder / "digits"
    data.mkdir()
    images = bytes(pixel % 251 for pixel in range(50 * 28 * 28))
    (data / "train-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, 50, 28, 28) + images)
    labels = bytes(label % 10 for label in range(50))
    (data / "train-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, 50) + labels)
    path = folder / "study.yaml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The study in a folder of the test's own."""
    return write_study(tmp_path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the study ran, once for all tests; nobody changes its runs."""
    folder = tmp_path_factory.mktemp("trained")
    words = [sys.executable, "-m", "prumo", "run", str(write_study(folder))]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder


def test_a_training_study_goes_from_its_file_to_a_report(prumo: Prumo, trained: Path) -> None:
    runs = records(trained / "results/small")
    assert [run["verdict"] for run in runs.values()] == ["finished"] * 2 + ["unavailable"] * 2
    assert "NVIDIA" in runs["C03-r1"]["reason"]

    generated, real = runs["C01-r1"], runs["C02-r1"]
    assert generated["data"]["source"] == "generated"
    assert real["data"]["source"].endswith("digits")
    for run in (generated, real):
        assert run["metrics"]["images"] == 80
        assert run["metrics"]["train_seconds"] > 0
        assert run["versions"]["pytorch"].startswith("2.")
        assert run["network"]["parameters"] > 0
        assert run["environment"]["packages"]["torch"]
        assert run["build"]["cpu_capability"]
        assert run["sampler"]["samples"] >= 2
        assert run["sampler"]["memory_bytes"] > 0

    told = prumo("report", trained / "results/small", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)
    assert "unavailable" in (trained / "results/small/report.html").read_text()


def test_the_journal_has_the_events_of_the_protocol(trained: Path) -> None:
    journal = trained / "results/small/runs/C01-r1/events.jsonl"
    kinds = [json.loads(line)["event"] for line in journal.read_text().splitlines()]
    epoch = ["step"] * 3 + ["epoch"]
    assert kinds == ["started", "ready", "step", "step", *epoch, *epoch, "finished"]


def test_too_little_memory_is_out_of_memory(prumo: Prumo, study: Path, tmp_path: Path) -> None:
    study.write_text(STUDY.replace("warmup_steps: 2", "warmup_steps: 2, memory_bytes: 64MiB"))
    done = prumo("run", study, "--scenario", "C1")
    assert done.returncode == 1
    assert records(tmp_path / "results/small")["C01-r1"]["verdict"] == "out_of_memory"


def test_runs_of_another_study_are_not_merged(
    prumo: Prumo, study: Path, trained: Path, tmp_path: Path
) -> None:
    shutil.copytree(trained / "results", tmp_path / "results")
    elsewhere = tmp_path / "elsewhere"
    study.write_text(STUDY.replace("device: cuda", "device: cpu"))
    prumo("run", study, "--results", elsewhere, "--scenario", "C3")
    told = prumo("merge", elsewhere, "results/small")
    assert told.returncode == 2
    assert "another study or version" in told.stderr
