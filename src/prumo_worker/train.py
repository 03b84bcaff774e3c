"""The training loop that all frameworks share, so that all are timed alike."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import fmean, median
from time import perf_counter_ns
from typing import Any

from prumo_worker.data.dataset import Batch, Dataset, Feed, open_dataset
from prumo_worker.frameworks import Trainer, open_trainer
from prumo_worker.journal import Journal, Step, step_rows, summed
from prumo_worker.networks import Network, network
from prumo_worker.networks.weights import initial_weights
from prumo_worker.processor import vector_extensions
from prumo_worker.profile import function_times, profile_rows
from prumo_worker.recipe import Recipe, read_recipe
from prumo_worker.task import Task, Unavailable

_PROFILED_STEPS = 5


@dataclass(frozen=True)
class Pass:
    """What one pass over batches took and gave: an epoch, or the warm-up as epoch 0."""

    epoch: int
    time: float
    """When it began, in seconds since 1970: a label only."""
    seconds: float
    """By the host's clock, until the device had done all of it."""
    steps: list[Step]
    figures: dict[str, float]
    """All steps together."""


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
    journal.event("epoch", epoch=number, seconds=epoch.seconds, **epoch.figures)
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
    steps = list(map(Step, spans[::2], spans[1::2], images, losses))
    return Pass(epoch, began, seconds, steps, summed(steps, right))


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
        times = function_times(partial(trainer.take_steps, batches))
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
    _, *moments = accumulate((step.seconds for step in done.steps), initial=done.time)
    rows = step_rows(done.steps, epoch=done.epoch)
    journal.events("step", [{"time": moment, **row} for moment, row in zip(moments, rows)])


def _metrics(warm_up: Pass | None, epochs: list[Pass]) -> dict[str, float]:
    def total(name: str) -> float:
        return sum(epoch.figures[name] for epoch in epochs)

    train_seconds = sum(epoch.seconds for epoch in epochs)
    return {
        "warmup_seconds": warm_up.seconds if warm_up else 0.0,
        "first_step_seconds": (warm_up or epochs[0]).steps[0].seconds,
        "train_seconds": train_seconds,
        "seconds_per_epoch": fmean(epoch.seconds for epoch in epochs),
        "step_seconds_median": median(s.seconds for epoch in epochs for s in epoch.steps),
        "data_seconds": total("data_seconds"),
        "compute_seconds": total("compute_seconds"),
        "images": total("images"),
        "images_per_second": total("images") / train_seconds,
        "loss": epochs[-1].figures["loss"],
        "accuracy": epochs[-1].figures["accuracy"],
    }
