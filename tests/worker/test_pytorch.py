"""Real training in the real PyTorch environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import reference_network
from prumo_worker.data.dataset import open_dataset
from prumo_worker.data.feed import Feed
from prumo_worker.data.resize import resized
from prumo_worker.networks import NAMES, network
from prumo_worker.networks.weights import initial_weights
from worker_process import LENET, SOURCES, WorkerRun, journal, run_worker, task

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def trained(pytorch_python: str, tmp_path_factory: pytest.TempPathFactory) -> WorkerRun:
    """LeNet-5 over three epochs after five steps of warm-up."""
    folder = tmp_path_factory.mktemp("trained")
    return run_worker(pytorch_python, task(folder, LENET, warmup_steps=5))


def losses(run: WorkerRun) -> list[float]:
    return [step["loss"] for step in run.named("step") if step["epoch"] > 0]


def test_a_training_tells_its_story_in_order(trained: WorkerRun) -> None:
    assert trained.exit_code == 0, trained.log
    told = [event["event"] for event in trained.events]
    epoch = [*["step"] * 4, "epoch"]
    assert told == ["started", "ready", *["step"] * 5, *epoch, *epoch, *epoch, "finished"]
    times = [event["time"] for event in trained.events]
    assert times == sorted(times)


def test_it_says_what_it_runs_on_before_it_runs(trained: WorkerRun) -> None:
    ready = trained.only("ready")
    assert (ready["device"], ready["threads"]) == ("cpu", 1)
    assert ready["versions"]["pytorch"].startswith("2.")
    assert {"compiler", "cpu_capability"} <= ready["build"].keys()
    assert ready["network"] == {"name": "lenet5", "parameters": 61_706, "flops": 833_040}
    expected = {"source": "generated", "images": 200, "shape": [1, 28, 28], "classes": 10}
    assert ready["data"] == expected


def test_the_loss_falls_from_epoch_to_epoch(trained: WorkerRun) -> None:
    first, second, third = (epoch["loss"] for epoch in trained.named("epoch"))
    assert first > second > third
    assert trained.only("finished")["metrics"]["loss"] == third


def test_every_image_is_seen_once_in_every_epoch(trained: WorkerRun) -> None:
    assert [epoch["images"] for epoch in trained.named("epoch")] == [200, 200, 200]
    assert trained.only("finished")["metrics"]["images"] == 600


def test_data_and_compute_make_up_the_epoch(trained: WorkerRun) -> None:
    for epoch in trained.named("epoch"):
        parts = epoch["data_seconds"] + epoch["compute_seconds"]
        assert 0 < parts <= epoch["seconds"]


def test_the_first_loss_is_what_numpy_computes_from_the_same_weights(trained: WorkerRun) -> None:
    lenet5 = network("lenet5", 28, 1, 10)
    dataset = open_dataset("mnist", image_size=None, images=200, seed=1, path=None)
    images, labels = next(Feed(dataset, batch_size=64, seed=1).epoch(1))
    scores = reference_network.scores(lenet5, initial_weights(lenet5, seed=1), images)
    assert losses(trained)[0] == pytest.approx(reference_network.cross_entropy(scores, labels))


def test_the_same_seed_gives_the_same_losses_with_and_without_a_warm_up(
    trained: WorkerRun, pytorch_python: str, tmp_path: Path
) -> None:
    cold = run_worker(pytorch_python, task(tmp_path, LENET, warmup_steps=0))
    assert losses(cold) == losses(trained)


def test_bf16_in_channels_last_computes_nearly_the_same(
    trained: WorkerRun, pytorch_python: str, tmp_path: Path
) -> None:
    change = {"precision": "bf16", "channels_last": True}
    run = run_worker(pytorch_python, task(tmp_path, {**LENET, **change}))
    assert run.exit_code == 0, run.log
    assert losses(run) == pytest.approx(losses(trained), rel=0.05)
    assert losses(run) != losses(trained)


def test_adam_learns_on_real_files_and_two_threads(pytorch_python: str, tmp_path: Path) -> None:
    generated = open_dataset("generated", image_size=40, images=96, seed=5, path=None)
    np.savez(tmp_path / "own.npz", images=generated.images, labels=generated.labels)
    parameters = {
        "framework": "pytorch",
        "network": "rede1",
        "dataset": "own",
        "image_size": 32,
        "batch_size": 32,
        "epochs": 2,
        "optimizer": "adam",
        "learning_rate": 0.001,
        "threads": 2,
    }
    run = run_worker(pytorch_python, task(tmp_path, parameters, data={"own": str(tmp_path)}))
    assert run.exit_code == 0, run.log
    ready = run.only("ready")
    assert ready["threads"] == 2
    assert ready["data"]["source"] == str(tmp_path)
    assert ready["data"]["shape"] == [3, 32, 32]
    first, second = (epoch["loss"] for epoch in run.named("epoch"))
    assert second < first


def test_a_loss_that_explodes_is_told_as_not_finite(pytorch_python: str, tmp_path: Path) -> None:
    wild = {**LENET, "network": "rede1", "images": 64, "batch_size": 16, "learning_rate": 1e9}
    run = run_worker(pytorch_python, task(tmp_path, wild))
    assert run.exit_code == 0
    assert run.only("finished")["not_finite"] == ["metrics.loss"]
    assert run.only("finished")["metrics"]["loss"] is None


def test_a_batch_beyond_the_memory_is_out_of_memory(pytorch_python: str, tmp_path: Path) -> None:
    large = {
        **LENET,
        "network": "rede1",
        "dataset": "generated",
        "image_size": 224,
        "images": 512,
        "batch_size": 512,
    }
    run = run_worker(pytorch_python, task(tmp_path, large), address_space_bytes=4 << 30)
    assert run.exit_code == 1
    assert run.only("failed")["kind"] == "out_of_memory", run.log


def test_a_worker_that_is_told_to_stop_ends_at_once(pytorch_python: str, tmp_path: Path) -> None:
    endless = task(tmp_path, {**LENET, "epochs": 1_000_000})
    command = [pytorch_python, "-m", "prumo_worker", str(endless)]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(SOURCES)}) as worker:
        while not any(event["event"] == "epoch" for event in journal(tmp_path / "events.jsonl")):
            assert worker.poll() is None
            time.sleep(0.05)
        worker.terminate()
        assert worker.wait(timeout=30) == -signal.SIGTERM
    assert journal(tmp_path / "events.jsonl")[-1]["event"] in {"step", "epoch"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"device": "cuda"}, "no CUDA device"),
        ({"device": "tpu"}, "on cpu and cuda, not on tpu"),
        ({"precision": "fp16"}, "fp16 needs a CUDA device"),
        ({"framework": "pytorch@1.0.0"}, "not the 1.0.0 asked for"),
    ],
)
def test_what_is_not_here_is_unavailable(
    pytorch_python: str, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    run = run_worker(pytorch_python, task(tmp_path, {**LENET, **change}))
    assert run.exit_code == 1
    assert run.only("failed")["kind"] == "unavailable"
    assert reason in run.only("failed")["message"]


COMPUTE = """
import json, sys
import numpy as np
import torch
from prumo_worker.frameworks.pytorch import Graph
from prumo_worker.networks import NAMES, network
from prumo_worker.networks.weights import initial_weights

images = torch.from_numpy(np.load(sys.argv[1]))
answers = {}
for name in NAMES:
    net = network(name, 28, 3, 10)
    graph = Graph(net)
    graph.modules.to_empty(device="cpu")
    graph.load(initial_weights(net, 7))
    parameters = sum(parameter.numel() for parameter in graph.modules.parameters())
    answers[name] = [parameters, graph.scores(images).tolist()]
resized = torch.nn.functional.interpolate(images, size=(37, 37), mode="bilinear")
print(json.dumps({"networks": answers, "resized": resized.tolist()}))
"""


@pytest.fixture(scope="module")
def pictures() -> np.ndarray:
    shape = (2, 3, 28, 28)
    values: np.ndarray = np.random.default_rng(3).integers(0, 256, size=shape)
    return values.astype(np.float32)


@pytest.fixture(scope="module")
def computed(
    pytorch_python: str, pictures: np.ndarray, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What PyTorch itself counts and computes."""
    file = tmp_path_factory.mktemp("computed") / "images.npy"
    np.save(file, pictures)
    done = subprocess.run(
        [pytorch_python, "-c", COMPUTE, str(file)],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=True,
    )
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize("name", NAMES)
def test_pytorch_counts_the_parameters_that_the_network_announces(
    computed: dict[str, Any], name: str
) -> None:
    assert computed["networks"][name][0] == network(name, 28, 3, 10).parameters


@pytest.mark.parametrize("name", NAMES)
def test_pytorch_gives_the_scores_that_numpy_gives(
    computed: dict[str, Any], pictures: np.ndarray, name: str
) -> None:
    net = network(name, 28, 3, 10)
    expected = reference_network.scores(net, initial_weights(net, seed=7), pictures)
    tolerance = 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(computed["networks"][name][1], expected, atol=tolerance)


def test_images_are_resized_as_pytorch_resizes_them(
    computed: dict[str, Any], pictures: np.ndarray
) -> None:
    ours = resized(pictures.astype(np.uint8), 37)
    np.testing.assert_allclose(ours, computed["resized"], atol=0.501)
