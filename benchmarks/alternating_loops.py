"""Prumo's training loop and a plain one, epoch by epoch in turn, in one process.

Run by the environment of the framework with the worker on its path:

    python alternating_loops.py SETTINGS JOURNAL SAMPLER_PID

The settings are JSON: `parameters` of a training, `threads`, `pairs`. The sampler works during
Prumo's epochs and is stopped during the plain ones. Prints one line of JSON: the seconds of each
pair.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

from prumo_worker.data.dataset import Feed, open_dataset
from prumo_worker.frameworks import open_trainer
from prumo_worker.journal import Journal
from prumo_worker.networks import network
from prumo_worker.networks.weights import initial_weights
from prumo_worker.recipe import read_recipe
from prumo_worker.train import run_epoch

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_worker.data.dataset import Dataset
    from prumo_worker.recipe import Recipe

WARMUP_EPOCHS = 2


def main(settings: dict[str, Any], journal: Journal, sampler: int) -> list[tuple[float, float]]:
    recipe = read_recipe(settings["parameters"])
    dataset = open_dataset(
        recipe.dataset,
        image_size=recipe.image_size,
        images=recipe.images,
        seed=recipe.seed,
        path=None,
    )
    prumo = prumo_loop(recipe, dataset, settings["threads"], journal)
    framework = recipe.framework.partition("@")[0]
    plain = import_module(f"plain_loops.{framework}").plain_loop(recipe, dataset)
    pairs = []
    for epoch in range(1, WARMUP_EPOCHS + settings["pairs"] + 1):
        taken = {}
        # Who begins changes from pair to pair, so that being second is nobody's advantage.
        for name in ("prumo", "plain") if epoch % 2 else ("plain", "prumo"):
            loop, order = (prumo, signal.SIGCONT) if name == "prumo" else (plain, signal.SIGSTOP)
            os.kill(sampler, order)
            taken[name] = seconds(loop, epoch)
        if epoch > WARMUP_EPOCHS:
            pairs.append((taken["prumo"], taken["plain"]))
    os.kill(sampler, signal.SIGCONT)
    return pairs


def seconds(loop: Callable[[int], None], epoch: int) -> float:
    began = time.perf_counter()
    loop(epoch)
    return time.perf_counter() - began


def prumo_loop(
    recipe: Recipe, dataset: Dataset, threads: int, journal: Journal
) -> Callable[[int], None]:
    net = network(recipe.network, dataset.shape[1], dataset.shape[0], dataset.classes)
    trainer = open_trainer(net, recipe, threads)
    trainer.load(initial_weights(net, recipe.seed))
    feed = Feed(dataset, recipe.batch_size, recipe.seed, trainer.layout)

    def loop(epoch: int) -> None:
        run_epoch(trainer, feed, epoch, journal)

    return loop


if __name__ == "__main__":
    measured = main(json.loads(sys.argv[1]), Journal(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps(measured))
