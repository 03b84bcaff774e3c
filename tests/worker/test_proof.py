"""The task `check`: what a network gives in a framework, from the weights of a seed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from prumo_worker.networks import network
from prumo_worker.networks.weights import initial_weights
from prumo_worker.proof import RATES, Question, proof_batch
from support import reference_network
from support.worker_process import run_worker, task

if TYPE_CHECKING:
    from pathlib import Path

    from support.worker_process import WorkerRun

LENET: dict[str, Any] = {
    "framework": "pytorch",
    "network": "lenet5",
    "image_size": 28,
    "channels": 1,
    "classes": 10,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("proof")


@pytest.fixture(scope="module")
def run(pytorch_python: Path, folder: Path) -> WorkerRun:
    return run_worker(str(pytorch_python), task(folder, LENET, kind="check"))


@pytest.mark.torch
def test_a_proof_tells_what_numpy_computes_too(run: WorkerRun, folder: Path) -> None:
    assert run.exit_code == 0, run.log
    assert [event["event"] for event in run.events] == ["started", "proof", "finished"]
    proof = run.only("proof")
    net = network("lenet5", 28, 1, 10)
    images, labels = proof_batch(Question(**LENET), "NCHW")
    expected = reference_network.scores(net, initial_weights(net, seed=1), images)
    scores = np.load(folder / proof["scores"])
    np.testing.assert_allclose(scores, expected, atol=1e-5 * np.abs(expected).max())
    assert proof["parameters"] == net.parameters
    assert proof["loss"] == pytest.approx(reference_network.cross_entropy(expected, labels))
    changes = [proof["loss"] - step["loss_after"] for step in proof["steps"]]
    assert [step["learning_rate"] for step in proof["steps"]] == list(RATES[: len(changes)])
    assert all(change <= 0.2 * proof["loss"] for change in changes[:-1])
    assert max(changes) > 0.02 * proof["loss"]


@pytest.mark.torch
def test_what_goes_in_has_a_digest_that_changes_with_the_seed(
    run: WorkerRun, pytorch_python: Path, tmp_path: Path
) -> None:
    digests = [run.only("proof")["inputs"]]
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        again = run_worker(str(pytorch_python), task(folder, {**LENET, "seed": seed}, kind="check"))
        digests.append(again.only("proof")["inputs"])
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"network": "rede9"}, "no network is named 'rede9'"),
        ({"channels": None}, "channels: must be a whole number"),
        ({"image_size": 4}, "lenet5 on 1x4x4"),
    ],
)
def test_a_question_that_cannot_be_asked_is_invalid(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    run = run_worker(sys.executable, task(tmp_path, {**LENET, **change}, kind="check"))
    assert run.only("failed")["kind"] == "invalid"
    assert reason in run.only("failed")["message"]
