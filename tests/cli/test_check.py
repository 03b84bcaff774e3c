"""`prumo check`, and the same before `prumo run`, with real frameworks.

Where only the comparing matters, two levels that are one framework save the time of a second.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Prumo = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("pytorch_python")]

STUDY = """
name: pair
workload: {kind: training}
factors:
  framework: [pytorch, pytorch@2.13.0]
fixed: {network: lenet5, dataset: mnist, image_size: 28, images: 64, batch_size: 32}
measure: {sample_seconds: 0.5, profile: true}
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "pair.yaml"
    file.write_text(STUDY)
    return file


@pytest.fixture(scope="module")
def proven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the study was checked, once for all tests; copied, never changed."""
    folder = tmp_path_factory.mktemp("proven")
    (folder / "pair.yaml").write_text(STUDY)
    words = [sys.executable, "-m", "prumo", "check", "pair.yaml", "--json"]
    checked = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    (folder / "checked.json").write_text(checked.stdout)
    return folder


@pytest.fixture
def checked_study(proven: Path, tmp_path: Path) -> Path:
    """The study with its proofs in a folder of the test's own."""
    shutil.copytree(proven, tmp_path, dirs_exist_ok=True)
    return tmp_path / "pair.yaml"


def equality(results: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((results / "equality.json").read_text())
    return content


def spoil(results: Path, framework: str) -> None:
    """Make one framework's answer another than it gave."""
    (folder,) = results.glob(f"proofs/{framework}-lenet5-*")
    scores = np.load(folder / "scores.npy")
    np.save(folder / "scores.npy", scores * 1.1)


def test_networks_are_checked_once_compared_and_shown_in_the_report(
    prumo: Prumo, checked_study: Path, tmp_path: Path
) -> None:
    told = json.loads((tmp_path / "checked.json").read_text())
    assert told["equal"]
    (network,) = told["networks"]
    assert (network["network"], network["parameters"]) == ("lenet5", 61_706)
    assert [row["state"] for row in network["frameworks"]] == ["equal", "equal"]

    proofs = {path: path.stat().st_mtime_ns for path in tmp_path.glob("results/pair/proofs/*/*")}
    ran = prumo("run", checked_study)
    assert ran.returncode == 0, ran.stderr
    assert {path: path.stat().st_mtime_ns for path in proofs} == proofs

    reported = prumo("report", tmp_path / "results/pair")
    assert "The same networks, proven equal (in fp32)." in reported.stdout
    assert "Where the time of a step goes" in reported.stdout
    page = (tmp_path / "results/pair/report.html").read_text()
    assert "proven equal" in page
    assert "aten::" in page


def test_what_differs_stops_the_run(prumo: Prumo, checked_study: Path, tmp_path: Path) -> None:
    results = tmp_path / "results/pair"
    spoil(results, "pytorch-2.13.0")

    checked = prumo("check", checked_study)
    assert checked.returncode == 1
    assert "scores differ from pytorch" in checked.stdout
    stopped = prumo("run", checked_study)
    assert stopped.returncode == 1
    assert "do not train the same networks" in stopped.stderr
    assert not list((results / "runs").iterdir())


@pytest.mark.slow
def test_what_differs_runs_when_the_user_wants_it_all_the_same(
    prumo: Prumo, checked_study: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results/pair"
    spoil(results, "pytorch-2.13.0")
    prumo("check", checked_study)

    ran = prumo("run", checked_study, "--no-check")
    assert ran.returncode == 0, ran.stderr
    assert "NOT CHECKED" in ran.stdout
    page = prumo("report", results)
    assert "do not train the same networks" in page.stdout


@pytest.mark.slow
def test_a_framework_that_cannot_be_had_is_listed_as_refused_and_proves_nothing(
    prumo: Prumo, study: Path, tmp_path: Path
) -> None:
    names = ("--framework", "pytorch", "--framework", "pytorch@0.0.1")
    checked = prumo("check", study, *names, "--json")
    assert checked.returncode == 1, checked.stderr
    told = json.loads(checked.stdout)
    assert not told["equal"]
    present, absent = told["networks"][0]["frameworks"]
    assert (present["state"], absent["state"]) == ("alone", "refused")
    assert "0.0.1" in absent["findings"][0]
    shutil.rmtree(tmp_path / "results")


@pytest.mark.slow
def test_a_later_check_of_one_framework_keeps_the_proof_of_the_others(
    prumo: Prumo, study: Path, tmp_path: Path
) -> None:
    alone = prumo("check", study, "--framework", "pytorch")
    assert alone.returncode == 0, alone.stderr
    assert "There was nothing to compare" in alone.stdout
    checked = prumo("check", study, "--framework", "pytorch@2.13.0")
    assert checked.returncode == 0, checked.stderr
    (network,) = equality(tmp_path / "results/pair")["networks"]
    states = {row["framework"]: row["state"] for row in network["frameworks"]}
    assert states == {"pytorch": "equal", "pytorch@2.13.0": "equal"}


@pytest.mark.slow
def test_the_second_framework_is_checked_against_the_runs_of_the_first(
    prumo: Prumo, study: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results/pair"
    first = prumo("run", study, "--only", "framework == pytorch")
    assert first.returncode == 0, first.stderr
    assert not (results / "equality.json").exists()

    prumo("check", study)
    spoil(results, "pytorch-2.13.0")
    second = prumo("run", study, "--scenario", "C2")
    assert second.returncode == 1
    assert "scores differ from pytorch" in second.stderr
    assert [path.name for path in (results / "runs").iterdir()] == ["C01-r1"]


@pytest.mark.slow
def test_a_difference_in_a_framework_that_the_study_does_not_compare_stops_nothing(
    prumo: Prumo, study: Path, tmp_path: Path
) -> None:
    study.write_text(STUDY.replace("pytorch@2.13.0]", "pytorch@0.0.1]"))
    both = ("--framework", "pytorch", "--framework", "pytorch@2.13.0")
    prumo("check", study, *both)
    spoil(tmp_path / "results/pair", "pytorch-2.13.0")
    ran = prumo("run", study)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
def test_the_report_warns_until_the_compared_frameworks_are_proven(
    prumo: Prumo, study: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results/pair"
    ran = prumo("run", study, "--no-check")
    assert ran.returncode == 0, ran.stderr
    warned = prumo("report", results).stdout
    assert "lenet5 at 28 pixels (pytorch / pytorch@2.13.0)" in warned

    prumo("check", study, "--framework", "pytorch")
    assert "Nothing proves" in prumo("report", results).stdout
    prumo("check", study)
    assert "Nothing proves" not in prumo("report", results).stdout


@pytest.mark.slow
def test_the_network_is_proven_for_the_channels_and_classes_of_the_users_data(
    prumo: Prumo, study: Path, tmp_path: Path
) -> None:
    numbers = np.random.default_rng(1)
    images = numbers.integers(0, 256, size=(8, 28, 28), dtype=np.uint8)
    np.savez(tmp_path / "mine.npz", images=images, labels=np.arange(8) % 4)
    study.write_text(
        STUDY.replace("kind: training", "kind: training, data: {mine: mine.npz}")
        .replace("dataset: mnist", "dataset: mine")
        .replace("images: 64, batch_size: 32", "batch_size: 4")
    )
    checked = prumo("check", study, "--framework", "pytorch", "--json")
    assert checked.returncode == 0, checked.stderr
    (network,) = json.loads(checked.stdout)["networks"]
    assert (network["channels"], network["classes"]) == (1, 4)

    ran = prumo("run", study)
    assert ran.returncode == 0, ran.stderr
    trained = json.loads((tmp_path / "results/pair/runs/C01-r1/run.json").read_text())
    assert trained["network"]["parameters"] == network["parameters"]
    (network,) = equality(tmp_path / "results/pair")["networks"]
    assert [row["state"] for row in network["frameworks"]] == ["equal", "equal"]


def test_ctrl_c_during_the_check_before_a_run_says_how_to_go_on(
    study: Path, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "prumo", "run", str(study)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not list(tmp_path.glob("results/pair/proofs/*/events.jsonl")):
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert f"go on with:  prumo run {study}" in output
    assert "Traceback" not in errors


FRAMEWORKS = ("pytorch", "tensorflow", "jax", "mxnet", "caffe")
NETWORK = """
layers:
  - {name: conv, operation: convolution, outputs: 4, kernel: 3, padding: 1}
  - {name: norm, operation: batch_normalization}
  - {name: relu, operation: rectifier}
  - {name: pool, operation: max_pooling, kernel: 2, stride: 2, ceil: true}
  - {name: side_flat, operation: flatten}
  - {name: side, operation: dense, outputs: classes, auxiliary: 0.3}
  - {name: grouped, operation: convolution, outputs: 6, kernel: 3, groups: 2, inputs: pool}
  - {name: flat, operation: flatten}
  - {name: scores, operation: dense, outputs: classes}
"""


@pytest.mark.frameworks
def test_all_frameworks_build_one_network_of_the_users_own_alike(
    prumo: Prumo, study: Path, tmp_path: Path, framework_python: Callable[[str], Path]
) -> None:
    for name in FRAMEWORKS:
        framework_python(name)
    (tmp_path / "net.yaml").write_text(NETWORK)
    study.write_text(
        STUDY.replace("lenet5", "net.yaml")
        .replace("[pytorch, pytorch@2.13.0]", f"[{', '.join(FRAMEWORKS)}]")
        .replace("image_size: 28", "image_size: 11")
    )
    checked = prumo("check", study, "--json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    (network,) = json.loads(checked.stdout)["networks"]
    states = {row["framework"]: row["state"] for row in network["frameworks"]}
    assert states == dict.fromkeys(FRAMEWORKS, "equal")
    assert all(row["version"] for row in network["frameworks"])


def test_a_study_of_commands_cannot_be_checked(prumo_here: Prumo, tmp_path: Path) -> None:
    file = tmp_path / "commands.yaml"
    file.write_text("name: c\nworkload: {kind: command, command: [ls]}\nfactors: {a: [1]}\n")
    done = prumo_here("check", file)
    assert done.returncode == 2
    assert "only trainings can be checked" in done.stderr


def test_a_framework_that_nobody_knows_is_bad_input(prumo_here: Prumo, study: Path) -> None:
    done = prumo_here("check", study, "--framework", "pytorh")
    assert done.returncode == 2
    assert "did you mean 'pytorch'" in done.stderr
