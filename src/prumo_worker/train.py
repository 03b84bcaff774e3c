"""The training loop that all frameworks share, so that all are timed alike."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from prumo_worker.data.dataset import Dataset, Feed, open_dataset
from prumo_worker.frameworks import Trainer, open_trainer
from prumo_worker.networks import Network, network
from prumo_worker.networks.weights import initial_weights
from prumo_worker.processor import vector_extensions
from prumo_worker.profile import function_times, profile_rows
from prumo_worker.recipe import Recipe, read_recipe
from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo_worker.data.dataset import Batch
    from prumo_worker.journal import Journal
    from prumo_worker.task import Task

_PROFILED_STEPS = 5


@dataclass(frozen=True)
class Pass:
    """What one pass over batches took and gave: an epoch, or the warm-up as epoch 0."""

    epoch: int
    time: float
    """When it began, in seconds since 1970: a label only."""
    seconds: float
    """By the host's clock, until the device had done all of it."""
    data_seconds: list[float]
    """For each step, how long its batch took to come."""
    compute_seconds: list[float]
    images: list[int]
    losses: list[float]
    right: int

    @property
    def step_seconds(self) -> list[float]:
        """Waiting for data and computing together."""
        return [data + compute for data, compute in zip(self.data_seconds, self.compute_seconds)]

    @property
    def loss(self) -> float:
        """The mean over all images, each weighed with the weights its batch met."""
        total = sum(loss * images for loss, images in zip(self.losses, self.images))
        return total / sum(self.images)

    @property
    def accuracy(self) -> float:
        """The share of images classified right when their batch came by."""
        return self.right / sum(self.images)


def train(task: Task, journal: Journal) -> dict[str, float]:
    """Train as the task says, tell the journal, and return the run's metrics."""
    began_ns = perf_counter_ns()
    recipe = read_recipe(task.parameters)
    dataset = _open_dataset(recipe, task)
    channels, image_size, _ = dataset.shape
    net = network(recipe.network, image_size, channels, dataset.classes, task.layers)
    trainer = open_trainer(net, recipe, recipe.threads or task.threads)
    weights = initial_weights(net, recipe.seed)
    trainer.load(weights)
    setup_seconds = (perf_counter_ns() - began_ns) / 1e9
    journal.event("ready", **_facts(trainer, net, dataset), setup_seconds=setup_seconds)

    feed = Feed(dataset, recipe.batch_size, recipe.seed, trainer.layout)
    warm_up = None
    if task.warmup_steps:
        warm_up = _run(trainer, 0, feed.warm_up(task.warmup_steps))
        _write_steps(journal, warm_up)
        trainer.load(weights)
    del weights
    epochs = []
    for number in range(1, recipe.epochs + 1):
        if recipe.schedule != "constant":
            trainer.set_learning_rate(recipe.rate_in(number))
        epochs.append(run_epoch(trainer, feed, number, journal))
    if task.profile:
        _profile(trainer, feed, journal)
    return {"setup_seconds": setup_seconds, **_metrics(warm_up, epochs)}


def run_epoch(trainer: Trainer, feed: Feed, number: int, journal: Journal) -> Pass:
    """Train one epoch and tell the journal about it."""
    epoch = _run(trainer, number, feed.epoch(number))
    _write_steps(journal, epoch)
    _write_epoch(journal, epoch)
    return epoch


def _open_dataset(recipe: Recipe, task: Task) -> Dataset:
    path = task.data.get(recipe.dataset)
    dataset = open_dataset(
        recipe.dataset,
        image_size=recipe.image_size,
        images=recipe.images,
        seed=recipe.seed,
        path=Path(path) if path else None,
        only_class=recipe.only_class,
    )
    return replace(dataset, source=task.sources.get(recipe.dataset, dataset.source))


def _run(trainer: Trainer, epoch: int, batches: Iterable[Batch]) -> Pass:
    """One pass, with nothing between the marks but the data and the steps.

    Losses stay on the device until all steps are done: to read one is to wait for it.
    """
    outcomes, images = [], []
    began = time.time()
    began_ns = perf_counter_ns()
    marks = [trainer.mark()]
    for pictures, labels in batches:
        batch = trainer.batch(pictures, labels)
        marks.append(trainer.mark())
        outcomes.append(trainer.step(batch))
        marks.append(trainer.mark())
        images.append(len(labels))
    spans = trainer.spans(marks)
    seconds = (perf_counter_ns() - began_ns) / 1e9
    losses, right = trainer.fetch(outcomes)
    return Pass(epoch, began, seconds, spans[::2], spans[1::2], images, losses, right)


def _profile(trainer: Trainer, feed: Feed, journal: Journal) -> None:
    """A few steps more, which no metric counts: the training is done, whatever becomes of them.

    All are on the same batch, so that they need no more memory than those of the training.
    """
    rows, functions, reason = [], [], ""
    try:
        batches = [trainer.batch(*next(feed.warm_up(1)))] * _PROFILED_STEPS
        functions = _functions(trainer, batches)
        rows = profile_rows(trainer.profile(batches))
    except Unavailable as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 (the figures hold, and the journal says why)
        traceback.print_exc()
        reason = f"{type(error).__name__}: {error}"
    told = {"steps": _PROFILED_STEPS, "rows": rows, "functions": functions}
    if not rows:
        told["reason"] = reason or "the profiler told of no operation"
    journal.event("profile", **told)


def _functions(trainer: Trainer, batches: list[Any]) -> list[dict[str, Any]]:
    """The same steps by perf, which sees the functions inside an operation; empty without it."""
    try:
        times = function_times(lambda: trainer.fetch([trainer.step(batch) for batch in batches]))
    except Unavailable:
        return []
    return [
        {"function": row["operation"], "seconds": row["seconds"], "share": row["share"]}
        for row in profile_rows(times)
    ]


def _facts(trainer: Trainer, net: Network, dataset: Dataset) -> dict[str, Any]:
    return {
        "device": trainer.device,
        "threads": trainer.threads,
        "versions": dict(trainer.versions),
        "build": {**trainer.build, "vector_extensions": vector_extensions()},
        "network": {"name": net.name, "parameters": net.parameters, "flops": net.flops},
        "data": {
            "source": dataset.source,
            "images": len(dataset.labels),
            "shape": list(dataset.shape),
            "classes": dataset.classes,
            "content": dataset.content,
        },
    }


def _write_steps(journal: Journal, done: Pass) -> None:
    moment = done.time
    rows = []
    for position, seconds in enumerate(done.step_seconds):
        moment += seconds
        rows.append(
            {
                "time": moment,
                "epoch": done.epoch,
                "step": position + 1,
                "seconds": seconds,
                "data_seconds": done.data_seconds[position],
                "compute_seconds": done.compute_seconds[position],
                "images": done.images[position],
                "loss": done.losses[position],
            }
        )
    journal.events("step", rows)


def _write_epoch(journal: Journal, done: Pass) -> None:
    journal.event(
        "epoch",
        epoch=done.epoch,
        seconds=done.seconds,
        data_seconds=sum(done.data_seconds),
        compute_seconds=sum(done.compute_seconds),
        images=sum(done.images),
        loss=done.loss,
        accuracy=done.accuracy,
    )


def _metrics(warm_up: Pass | None, epochs: list[Pass]) -> dict[str, float]:
    train_seconds = sum(epoch.seconds for epoch in epochs)
    images = sum(sum(epoch.images) for epoch in epochs)
    first = warm_up or epochs[0]
    return {
        "warmup_seconds": warm_up.seconds if warm_up else 0.0,
        "first_step_seconds": first.step_seconds[0],
        "train_seconds": train_seconds,
        "seconds_per_epoch": fmean(epoch.seconds for epoch in epochs),
        "step_seconds_median": median(s for epoch in epochs for s in epoch.step_seconds),
        "data_seconds": sum(sum(epoch.data_seconds) for epoch in epochs),
        "compute_seconds": sum(sum(epoch.compute_seconds) for epoch in epochs),
        "images": images,
        "images_per_second": images / train_seconds,
        "loss": epochs[-1].loss,
        "accuracy": epochs[-1].accuracy,
    }
