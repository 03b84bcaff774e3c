"""What PyTorch alone does; what every framework does is in test_trainers.py."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from prumo.datasets.source import resized
from prumo_worker.networks import NAMES, network
from prumo_worker.networks.weights import initial_weights
from support import reference_network
from support.smallest_images import SMALLEST
from support.worker_process import LENET, SOURCES, WorkerRun, journal, run_worker, task

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def trained(pytorch_python: str, tmp_path_factory: pytest.TempPathFactory) -> WorkerRun:
    """LeNet-5 over three epochs."""
    return run_worker(pytorch_python, task(tmp_path_factory.mktemp("trained"), LENET))


def losses(run: WorkerRun) -> list[float]:
    return [step["loss"] for step in run.named("step") if step["epoch"] > 0]


def test_the_build_says_what_speed_depends_on(trained: WorkerRun) -> None:
    assert {"compiler", "cpu_capability"} <= trained.only("ready")["build"].keys()


def test_bf16_in_channels_last_computes_nearly_the_same(
    trained: WorkerRun, pytorch_python: str, tmp_path: Path
) -> None:
    change = {"precision": "bf16", "channels_last": True}
    run = run_worker(pytorch_python, task(tmp_path, {**LENET, **change}))
    assert run.exit_code == 0, run.log
    assert losses(run) == pytest.approx(losses(trained), rel=0.05)
    assert losses(run) != losses(trained)


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


def test_half_precision_on_the_processor_is_unavailable(
    pytorch_python: str, tmp_path: Path
) -> None:
    run = run_worker(pytorch_python, task(tmp_path, {**LENET, "precision": "fp16"}))
    assert run.exit_code == 1
    assert run.only("failed")["kind"] == "unavailable"
    assert "fp16 needs a CUDA device" in run.only("failed")["message"]


# The others are made of the same parts.
SIZES = {
    name: max(SMALLEST[name], 28)
    for name in NAMES
    if name not in {"vgg16", "dr_vgg19", "googlenet", "resnet50", "dr_mobilenet"}
}

COMPUTE = """
import json, sys
import numpy as np
import torch
from prumo_worker.frameworks.pytorch.network import Graph
from prumo_worker.networks import network
from prumo_worker.networks.weights import initial_weights

images = torch.from_numpy(np.load(sys.argv[1]))
answers = {}
for name, size in json.loads(sys.argv[2]).items():
    net = network(name, size, 3, 10)
    graph = Graph(net)
    graph.modules.to_empty(device="cpu").eval()
    graph.load(initial_weights(net, 7))
    with torch.inference_mode():
        scores = [output.tolist() for output in graph.outputs(images[:, :, :size, :size])]
    answers[name] = [graph.parameters, scores]
resized = torch.nn.functional.interpolate(images[:, :, :28, :28], size=(37, 37), mode="bilinear")
print(json.dumps({"networks": answers, "resized": resized.tolist()}))
"""


@pytest.fixture(scope="module")
def pictures() -> np.ndarray:
    size = max(SIZES.values())
    values: np.ndarray = np.random.default_rng(3).integers(0, 256, size=(2, 3, size, size))
    return values.astype(np.float32)


@pytest.fixture(scope="module")
def computed(
    pytorch_python: str, pictures: np.ndarray, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What PyTorch itself counts and computes."""
    file = tmp_path_factory.mktemp("computed") / "images.npy"
    np.save(file, pictures)
    done = subprocess.run(
        [pytorch_python, "-c", COMPUTE, str(file), json.dumps(SIZES)],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=True,
    )
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_pytorch_counts_and_computes_what_numpy_does(
    computed: dict[str, Any], pictures: np.ndarray, name: str, size: int
) -> None:
    net = network(name, size, 3, 10)
    parameters, given = computed["networks"][name]
    values = reference_network.outputs(
        net, initial_weights(net, seed=7), pictures[:, :, :size, :size]
    )
    assert parameters == net.parameters
    heads = list(net.heads)
    for scores, head in zip(given, heads, strict=True):
        tolerance = 1e-5 * np.abs(values[head]).max()
        np.testing.assert_allclose(scores, values[head], atol=tolerance)


def test_images_are_resized_as_pytorch_resizes_them(
    computed: dict[str, Any], pictures: np.ndarray
) -> None:
    (ours,) = resized(pictures[:, :, :28, :28].astype(np.uint8), 37)
    np.testing.assert_allclose(ours, computed["resized"], atol=0.501)
