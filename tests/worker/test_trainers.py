"""The contract of a trainer, kept by every framework in its real environment.

What is expected comes from numpy: scores, losses, and the gradients by finite differences.
"""

from __future__ import annotations

import signal
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from prumo.datasets.preparation import Request, prepare
from prumo.machine.accelerators import read_gpus
from prumo.results.record import Verdict
from prumo.run.verdict import Evidence, judge
from prumo.statistics.training import OperationKind, operation_kind
from prumo.supervise.guard import Ending
from prumo_worker.data.dataset import Feed, open_dataset
from prumo_worker.networks import network
from prumo_worker.networks.weights import initial_weights
from prumo_worker.processor import vector_extensions
from prumo_worker.profile import function_times
from prumo_worker.task import Unavailable
from support import reference_network
from support.reference_training import losses_of
from support.small_networks import LAYERS, small_network
from support.trainer_process import SEED, Answer, Case, ask, pictures
from support.worker_process import LENET, WorkerRun, run_worker, task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prumo_worker.networks import Network

FRAMEWORKS = (
    pytest.param("pytorch", marks=pytest.mark.torch),
    *(
        pytest.param(name, marks=pytest.mark.frameworks)
        for name in ("tensorflow", "tensorflow@2.14.0", "jax", "mxnet", "caffe")
    ),
)

REFUSED: dict[str, frozenset[str]] = {
    "caffe": frozenset({"average_pooling", "max_pooling_behind"}),
    "mxnet": frozenset({"max_pooling_behind"}),
}
"""The small networks that a framework cannot express exactly, and says so."""

WITHOUT_BF16 = {"caffe", "mxnet"}

PLAIN = {"momentum": 0.0, "learning_rate": 0.05, "dropout": False}
STILL = {"learning_rate": 0.0}
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.1, "learning_rate": 0.1},
    "adam": {"optimizer": "adam", "weight_decay": 0.1, "learning_rate": 0.1},
}

SCORES = {"name": "scores", "operation": "dense", "outputs": "classes"}
TOO_LARGE: dict[str, list[dict[str, Any]]] = {
    "network": [
        {"name": "flat", "operation": "flatten"},
        {"name": "wide", "operation": "dense", "outputs": 10_000},
        SCORES,
    ],
    "batch": [
        {"name": "deep", "operation": "convolution", "outputs": 256, "kernel": 1},
        {"name": "act", "operation": "rectifier"},
        {"name": "mean", "operation": "global_average_pooling"},
        SCORES,
    ],
}
"""Layers whose weights, or whose values for a batch, are more than 4 GiB."""

ENDING_SIGNAL = {"caffe": signal.SIGABRT, "tensorflow": signal.SIGSEGV}
"""How a framework ends its process when it gets no memory: the controller reads why in the log.
TensorFlow does so in its oneDNN kernels only, which not every processor uses."""

SCHEDULE = {"schedule": "step", "decay": 0.5, "decay_epochs": 2}

CASES = {
    **{name: Case(name, 2, PLAIN) for name in LAYERS},
    **{
        f"{optimizer} {name}": Case(name, 5, settings)
        for optimizer, settings in OPTIMIZERS.items()
        for name in ("regression", "convolution")
    },
    **{
        f"scheduled {optimizer}": Case("regression", 5, {**settings, **SCHEDULE})
        for optimizer, settings in OPTIMIZERS.items()
    },
    "dropping": Case("dropped", 2, STILL),
    "two heads": Case("two_heads", 3, STILL),
    "running averages": Case("normalized", 3, STILL),
    "bf16": Case("convolution", 2, {**PLAIN, "precision": "bf16"}),
    "fp16": Case("convolution", 2, {**PLAIN, "precision": "fp16"}),
    "cuda": Case("regression", 1, {"device": "cuda"}),
    "tpu": Case("regression", 1, {"device": "tpu"}),
}


@pytest.fixture(scope="module", params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def python(framework: str, framework_python: Callable[[str], Path]) -> Path:
    return framework_python(framework)


@pytest.fixture(scope="module")
def lenet(framework: str) -> dict[str, Any]:
    return {**LENET, "framework": framework}


@pytest.fixture(scope="module")
def trained(
    python: Path, lenet: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> WorkerRun:
    """LeNet-5 over three epochs after five steps of warm-up, and a profile."""
    folder = tmp_path_factory.mktemp("trained")
    return run_worker(str(python), task(folder, lenet, warmup_steps=5, profile=True))


@pytest.fixture(scope="module")
def answers(python: Path, framework: str) -> dict[str, Answer]:
    """What the framework answers to every case."""
    foreign = {"framework": f"{framework.partition('@')[0]}@0.0.1"}
    return ask(python, framework, {**CASES, "version": Case("regression", 1, foreign)})


def losses(run: WorkerRun) -> list[float]:
    return [step["loss"] for step in run.named("step") if step["epoch"] > 0]


def test_a_training_tells_its_story_in_order(trained: WorkerRun) -> None:
    assert trained.exit_code == 0, trained.log
    told = [event["event"] for event in trained.events]
    epoch = [*["step"] * 4, "epoch"]
    steps = [*["step"] * 5, *epoch, *epoch, *epoch]
    assert told == ["started", "ready", *steps, "profile", "finished"]
    times = [event["time"] for event in trained.events]
    assert times == sorted(times)


def test_it_says_what_it_runs_on_before_it_runs(trained: WorkerRun, framework: str) -> None:
    ready = trained.only("ready")
    assert (ready["device"], ready["threads"]) == ("cpu", 1)
    name, _, version = framework.partition("@")
    assert ready["versions"][name].startswith(version)
    assert ready["versions"]["numpy"]
    assert all(ready["build"].values())
    assert ready["build"]["vector_extensions"] == vector_extensions()
    assert ready["network"] == {"name": "lenet5", "parameters": 61_706, "flops": 833_040}


def test_the_loss_falls_from_epoch_to_epoch(trained: WorkerRun) -> None:
    first, second, third = (epoch["loss"] for epoch in trained.named("epoch"))
    assert first > second > third


def test_every_image_is_seen_once_in_every_epoch(trained: WorkerRun) -> None:
    assert [epoch["images"] for epoch in trained.named("epoch")] == [200, 200, 200]


def test_data_and_compute_make_up_the_epoch(trained: WorkerRun) -> None:
    for epoch in trained.named("epoch"):
        parts = epoch["data_seconds"] + epoch["compute_seconds"]
        assert 0 < parts <= epoch["seconds"]


def test_the_profile_shares_out_the_time_of_the_steps(trained: WorkerRun) -> None:
    rows = trained.only("profile")["rows"]
    assert len(rows) > 1
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert [row["seconds"] for row in rows] == sorted((r["seconds"] for r in rows), reverse=True)
    assert all(row["calls"] >= 1 and row["operation"] for row in rows)


def test_functions_are_told_where_perf_can_see_them(trained: WorkerRun) -> None:
    functions = trained.only("profile")["functions"]
    try:
        function_times(lambda: sum(range(1000)))
    except Unavailable:
        assert functions == []
        return
    assert sum(row["share"] for row in functions) == pytest.approx(1)
    assert all(row["function"].endswith(")") for row in functions)


@pytest.mark.slow
def test_products_take_most_of_the_time_of_a_network_that_is_made_of_them(
    framework: str, python: Path, tmp_path: Path
) -> None:
    parameters = {
        "framework": framework,
        "network": "rede1",
        "dataset": "generated",
        "images": 64,
        "batch_size": 64,
    }
    run = run_worker(str(python), task(tmp_path, parameters, profile=True))
    assert run.exit_code == 0, run.log
    shares = dict.fromkeys(OperationKind, 0.0)
    for row in run.only("profile")["rows"]:
        shares[operation_kind(row["operation"])] += row["share"]
    assert shares[OperationKind.CONVOLUTION] > 0
    assert shares[OperationKind.MATRIX_PRODUCT] > 0
    products = shares[OperationKind.CONVOLUTION] + shares[OperationKind.MATRIX_PRODUCT]
    # The faster the vector instructions, the smaller the share: 0.49 in JAX with AVX-512.
    assert products > 0.4, run.events


def test_the_first_loss_is_what_numpy_computes_from_the_same_weights(trained: WorkerRun) -> None:
    lenet5 = network("lenet5", 28, 1, 10)
    dataset = open_dataset("mnist", image_size=None, images=200, seed=1, path=None)
    images, labels = next(Feed(dataset, batch_size=64, seed=1).epoch(1))
    scores = reference_network.scores(lenet5, initial_weights(lenet5, seed=1), images)
    expected = reference_network.cross_entropy(scores, labels)
    assert losses(trained)[0] == pytest.approx(expected, rel=1e-5)


def test_training_begins_anew_after_the_warm_up(
    trained: WorkerRun, python: Path, lenet: dict[str, Any], tmp_path: Path
) -> None:
    cold = run_worker(str(python), task(tmp_path, {**lenet, "epochs": 1}, warmup_steps=0))
    assert losses(cold) == pytest.approx(losses(trained)[:4], rel=1e-5)


def test_adam_learns_on_real_files_and_two_threads(
    framework: str, python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRUMO_CACHE", str(tmp_path / "cache"))
    generated = open_dataset("generated", image_size=40, images=96, seed=5, path=None)
    np.savez(tmp_path / "own.npz", images=generated.images, labels=generated.labels)
    prepared = prepare(Request("own", tmp_path / "own.npz", image_size=32))
    parameters = {
        "framework": framework,
        "network": "lenet5",
        "dataset": "own",
        "image_size": 32,
        "batch_size": 32,
        "epochs": 2,
        "optimizer": "adam",
        "learning_rate": 0.001,
        "threads": 2,
    }
    places = {"data": {"own": str(prepared.folder)}, "sources": {"own": "/home/me/own.npz"}}
    run = run_worker(str(python), task(tmp_path, parameters, **places))
    assert run.exit_code == 0, run.log
    ready = run.only("ready")
    assert ready["threads"] == 2
    assert ready["data"]["source"] == "/home/me/own.npz"
    assert ready["data"]["shape"] == [3, 32, 32]
    first, second = (epoch["loss"] for epoch in run.named("epoch"))
    assert second < first


def test_a_loss_that_explodes_is_told_as_not_finite(
    python: Path, lenet: dict[str, Any], tmp_path: Path
) -> None:
    wild = {**lenet, "network": "rede1", "images": 64, "batch_size": 16, "learning_rate": 1e9}
    run = run_worker(str(python), task(tmp_path, wild))
    assert run.exit_code == 0, run.log
    assert run.only("finished")["not_finite"] == ["metrics.loss"]


@pytest.mark.slow
@pytest.mark.parametrize("too_large", TOO_LARGE)
def test_what_does_not_fit_into_memory_is_out_of_memory(
    framework: str, python: Path, tmp_path: Path, too_large: str
) -> None:
    parameters = {
        "framework": framework,
        "network": "own",
        "dataset": "generated",
        "image_size": 224,
        "images": 64,
        "batch_size": 64,
    }
    asked = task(tmp_path, parameters, layers=TOO_LARGE[too_large])
    run = run_worker(str(python), asked, address_space_bytes=4 << 30)
    ended_by_signal = run.exit_code < 0
    judgement = judge(
        Evidence(
            ending=Ending(signal=-run.exit_code)
            if ended_by_signal
            else Ending(exit_code=run.exit_code),
            events=run.events,
            metrics={},
            speaks_protocol=True,
            last_lines=run.log,
        )
    )
    assert judgement.verdict is Verdict.OUT_OF_MEMORY, run.log
    assert "alloc" in judgement.reason.lower()
    if ended_by_signal:
        assert -run.exit_code == ENDING_SIGNAL[framework.partition("@")[0]]


@pytest.mark.parametrize("device", ["cuda", "tpu"])
def test_a_device_that_is_not_here_is_unavailable(answers: dict[str, Answer], device: str) -> None:
    if device == "cuda" and read_gpus().devices:
        pytest.skip("absent hardware: there is no lack of a GPU here")
    assert device in answers[device].refused.lower()


def test_another_version_is_unavailable(answers: dict[str, Answer]) -> None:
    assert "not the 0.0.1 asked for" in answers["version"].refused


def test_bf16_trains_nearly_the_same_where_the_framework_has_it(
    answers: dict[str, Answer], framework: str
) -> None:
    answer = answers["bf16"]
    if framework.partition("@")[0] in WITHOUT_BF16:
        assert "not in bf16" in answer.refused
        return
    exact = plain_losses("convolution")
    assert answer.losses == pytest.approx(exact, rel=0.02)
    assert answer.losses != pytest.approx(exact, rel=1e-5)


def test_fp16_is_refused_on_a_processor(answers: dict[str, Answer]) -> None:
    assert "fp16" in answers["fp16"].refused


@pytest.mark.parametrize("name", LAYERS)
def test_a_network_is_exact_or_refused(
    answers: dict[str, Answer], framework: str, name: str
) -> None:
    answer = answers[name]
    family = framework.partition("@")[0]
    refused = name in REFUSED.get(family, frozenset())
    assert bool(answer.refused) == refused, answer.refused
    if refused:
        assert family in answer.refused.lower()
        return
    net = small_network(name)
    images, _ = pictures()
    expected = reference_network.scores(net, initial_weights(net, SEED), images)
    assert answer.parameters == net.parameters
    np.testing.assert_allclose(answer.before, expected, atol=1e-5 * np.abs(expected).max())
    assert answer.losses == pytest.approx(plain_losses(name), rel=1e-4)


@cache
def plain_losses(name: str) -> list[float]:
    return expected_losses(small_network(name), steps=2, learning_rate=PLAIN["learning_rate"])


def expected_losses(net: Network, **settings: Any) -> list[float]:
    images, labels = pictures()
    return losses_of(net, initial_weights(net, SEED), images, labels, **settings)


@pytest.mark.parametrize("name", ["regression", "convolution"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimizer_follows_its_formula(
    answers: dict[str, Answer], optimizer: str, name: str
) -> None:
    expected = expected_losses(small_network(name), steps=5, **OPTIMIZERS[optimizer])
    assert answers[f"{optimizer} {name}"].losses == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_schedule_changes_the_rate_and_nothing_else(
    answers: dict[str, Answer], framework: str, optimizer: str
) -> None:
    answer = answers[f"scheduled {optimizer}"]
    if framework == "caffe" and optimizer == "sgd":
        assert "it needs momentum 0, or adam" in answer.refused
        return
    settings = OPTIMIZERS[optimizer]
    rates = [settings["learning_rate"] * factor for factor in (1, 1, 0.5, 0.5, 0.25)]
    expected = expected_losses(
        small_network("regression"), steps=5, **{**settings, "learning_rate": rates}
    )
    assert answer.losses == pytest.approx(expected, rel=1e-4)


def test_right_answers_are_those_of_the_main_head(answers: dict[str, Answer]) -> None:
    net = small_network("two_heads")
    images, labels = pictures()
    values = reference_network.outputs(net, initial_weights(net, SEED), images)
    right = {
        name: int((values[name].argmax(axis=1) == labels).sum()) for name in ("scores", "side")
    }
    assert right["scores"] != right["side"]
    assert answers["two heads"].right == 3 * right["scores"]


def test_training_drops_values_and_inference_does_not(answers: dict[str, Answer]) -> None:
    net = small_network("dropped")
    images, labels = pictures()
    scores = reference_network.scores(net, initial_weights(net, SEED), images)
    np.testing.assert_allclose(answers["dropping"].after, scores, atol=1e-5 * np.abs(scores).max())
    kept = reference_network.cross_entropy(scores, labels)
    first, second = answers["dropping"].losses
    assert abs(first - kept) > 1e-3
    assert abs(first - second) > 1e-3


def test_inference_normalizes_by_the_running_averages(answers: dict[str, Answer]) -> None:
    answer = answers["running averages"]
    assert not answer.refused
    net = small_network("normalized")
    images, _ = pictures()
    weights = initial_weights(net, SEED)
    old = 0.75**3
    weights["norm.mean"] = (1 - old) * images.mean(axis=(0, 2, 3))
    weights["norm.variance"] = old + (1 - old) * images.var(axis=(0, 2, 3))
    expected = reference_network.scores(net, weights, images)
    # Some frameworks average the unbiased variance, which is 200/199 of the biased one here.
    np.testing.assert_allclose(answer.after, expected, atol=0.01 * np.abs(expected).max())
    assert answer.after != answer.before
