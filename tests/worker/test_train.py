"""The loop itself, on a device whose clock is told what time it is."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from prumo_worker import train as train_module
from prumo_worker.journal import TRAINING_METRICS, Journal
from prumo_worker.networks import network
from prumo_worker.networks.weights import initial_weights
from prumo_worker.profile import OperationTime
from prumo_worker.task import Unavailable, read_task
from prumo_worker.train import train
from support.worker_process import LENET, journal, task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Device:
    """Takes a second for a batch and ten for a step; remembers what it was asked to do."""

    device = "imagined"
    threads = 1
    versions: Mapping[str, str] = {"imagined": "1.0"}
    build: Mapping[str, str] = {}
    layout = "NHWC"
    parameters = 61_706

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[str] = []
        self.loaded: list[Mapping[str, np.ndarray]] = []
        self.shapes: set[tuple[int, ...]] = set()
        self.profiler_fails: BaseException | None = None
        self.operations = {"relu": 1.0, "conv": 3.0}

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        self.calls.append("load")
        self.loaded.append({name: array.copy() for name, array in weights.items()})

    def batch(self, images: np.ndarray, labels: np.ndarray) -> int:
        assert len(images) == len(labels)
        self.shapes.add(images.shape[1:])
        self.now += 1
        return len(labels)

    def step(self, batch: int) -> tuple[float, int]:
        self.calls.append("step")
        self.now += 10
        return 1 / batch, batch // 2

    def mark(self) -> float:
        return self.now

    def spans(self, marks: Sequence[float]) -> list[float]:
        self.calls.append("spans")
        return [after - before for before, after in pairwise(marks)]

    def fetch(self, outcomes: Sequence[tuple[float, int]]) -> tuple[list[float], int]:
        self.calls.append("fetch")
        return [loss for loss, _ in outcomes], sum(right for _, right in outcomes)

    def take_steps(self, batches: Sequence[int]) -> None:
        self.fetch([self.step(batch) for batch in batches])

    def profile(self, batches: Sequence[int]) -> list[OperationTime]:
        self.calls.append("profile")
        if self.profiler_fails:
            raise self.profiler_fails
        return [OperationTime(name, len(batches), time) for name, time in self.operations.items()]


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    imagined = Device()
    monkeypatch.setattr(train_module, "open_trainer", lambda *_: imagined)
    return imagined


def run(folder: Path, **changes: Any) -> tuple[dict[str, float], list[dict[str, Any]]]:
    asked = read_task(task(folder, {**LENET, "epochs": 2, "images": 100}, **changes))
    metrics = train(asked, Journal(asked.journal))
    return metrics, journal(asked.journal)


def test_nothing_is_read_back_before_all_steps_of_a_pass_are_asked_for(
    tmp_path: Path, device: Device
) -> None:
    run(tmp_path, warmup_steps=3)
    warm_up = ["load", *["step"] * 3, "spans", "fetch"]
    epoch = ["step", "step", "spans", "fetch"]
    assert device.calls == [*warm_up, "load", *epoch, *epoch]


def test_training_starts_from_the_seeds_weights_after_the_warm_up(
    tmp_path: Path, device: Device
) -> None:
    run(tmp_path, warmup_steps=2)
    expected = initial_weights(network("lenet5", 28, 1, 10), seed=1)
    assert len(device.loaded) == 2
    for loaded in device.loaded:
        np.testing.assert_equal(dict(loaded), expected)


@pytest.mark.usefixtures("device")
def test_data_and_compute_are_timed_apart_on_the_devices_clock(tmp_path: Path) -> None:
    metrics, events = run(tmp_path, warmup_steps=1)
    steps = [event for event in events if event["event"] == "step"]
    times = {(s["data_seconds"], s["compute_seconds"], s["seconds"]) for s in steps}
    assert times == {(1.0, 10.0, 11.0)}
    assert (metrics["data_seconds"], metrics["compute_seconds"]) == (4.0, 40.0)
    assert (metrics["first_step_seconds"], metrics["step_seconds_median"]) == (11.0, 11.0)


@pytest.mark.usefixtures("device")
def test_steps_are_numbered_within_their_epoch_and_the_warm_up_is_epoch_0(tmp_path: Path) -> None:
    _, events = run(tmp_path, warmup_steps=2)
    steps = [(e["epoch"], e["step"], e["images"]) for e in events if e["event"] == "step"]
    assert steps == [(0, 1, 64), (0, 2, 36), (1, 1, 64), (1, 2, 36), (2, 1, 64), (2, 2, 36)]


@pytest.mark.usefixtures("device")
def test_metrics_count_the_epochs_and_leave_the_warm_up_out(tmp_path: Path) -> None:
    metrics, events = run(tmp_path, warmup_steps=2)
    assert set(metrics) == set(TRAINING_METRICS)
    epochs = [event for event in events if event["event"] == "epoch"]
    assert metrics["images"] == sum(epoch["images"] for epoch in epochs) == 200
    assert metrics["train_seconds"] == sum(epoch["seconds"] for epoch in epochs)
    assert metrics["seconds_per_epoch"] == pytest.approx(metrics["train_seconds"] / 2)
    assert metrics["images_per_second"] == pytest.approx(200 / metrics["train_seconds"])
    assert metrics["warmup_seconds"] > 0


@pytest.mark.usefixtures("device")
def test_the_loss_of_an_epoch_weighs_every_image_the_same(tmp_path: Path) -> None:
    metrics, _ = run(tmp_path)
    assert metrics["loss"] == pytest.approx((64 * (1 / 64) + 36 * (1 / 36)) / 100)
    assert metrics["accuracy"] == pytest.approx((32 + 18) / 100)


@pytest.mark.usefixtures("device")
def test_without_a_warm_up_there_is_none(tmp_path: Path) -> None:
    metrics, events = run(tmp_path)
    assert metrics["warmup_seconds"] == 0
    assert all(event["epoch"] > 0 for event in events if event["event"] == "step")


def test_images_come_in_the_layout_that_the_trainer_takes(tmp_path: Path, device: Device) -> None:
    run(tmp_path)
    assert device.shapes == {(28, 28, 1)}


def test_a_profile_comes_after_the_timed_steps_and_changes_no_metric(
    tmp_path: Path, device: Device
) -> None:
    metrics, events = run(tmp_path, profile=True)
    assert device.calls[-1] == "profile"
    assert events[-1]["event"] == "profile"
    assert events[-1]["steps"] == 5
    assert [(row["operation"], row["share"]) for row in events[-1]["rows"]] == [
        ("conv", 0.75),
        ("relu", 0.25),
    ]
    assert metrics["images"] == 200


def test_a_profiler_that_is_not_here_is_told_and_no_failure(tmp_path: Path, device: Device) -> None:
    device.profiler_fails = Unavailable("this device has no profiler")
    _, events = run(tmp_path, profile=True)
    assert (events[-1]["rows"], events[-1]["reason"]) == ([], "this device has no profiler")


@pytest.mark.parametrize("error", [MemoryError("the device is full"), RuntimeError("no trace")])
def test_a_profile_that_fails_leaves_the_training_as_it_is(
    tmp_path: Path, device: Device, error: Exception
) -> None:
    device.profiler_fails = error
    metrics, events = run(tmp_path, profile=True)
    assert metrics["images"] == 200
    assert events[-1]["rows"] == []
    assert events[-1]["reason"] == f"{type(error).__name__}: {error}"


def test_a_profiler_that_says_nothing_is_told_of(tmp_path: Path, device: Device) -> None:
    device.operations = {}
    _, events = run(tmp_path, profile=True)
    assert events[-1]["rows"] == []
    assert events[-1]["reason"] == "the profiler told of no operation"


def test_an_interruption_ends_the_run_in_a_profile_too(tmp_path: Path, device: Device) -> None:
    device.profiler_fails = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, profile=True)
