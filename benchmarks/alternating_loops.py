"""Prumo's training loop and a plain one, epoch by epoch in turn, in one process.

Run by the environment of PyTorch with the worker on its path:

    python alternating_loops.py SETTINGS.json JOURNAL SAMPLER_PID

The sampler works during Prumo's epochs and is stopped during the plain ones. Prints one line of
JSON: the seconds of each pair.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from prumo_worker.data.dataset import open_dataset
from prumo_worker.data.feed import Feed
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
    plain = plain_loop(recipe, dataset)
    pairs = []
    for epoch in range(1, WARMUP_EPOCHS + settings["pairs"] + 1):
        os.kill(sampler, signal.SIGCONT)
        with_prumo = seconds(prumo, epoch)
        os.kill(sampler, signal.SIGSTOP)
        without = seconds(plain, epoch)
        if epoch > WARMUP_EPOCHS:
            pairs.append((with_prumo, without))
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
    feed = Feed(dataset, recipe.batch_size, recipe.seed)

    def loop(epoch: int) -> None:
        run_epoch(trainer, feed, epoch, journal)

    return loop


def plain_loop(recipe: Recipe, dataset: Dataset) -> Callable[[int], None]:
    """What a user would write by hand for Rede 1: no marks, no accuracy, no journal."""
    side = dataset.shape[1] // 4
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * side * side, 256),
        nn.ReLU(),
        nn.Linear(256, dataset.classes),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=recipe.learning_rate, momentum=0.9)
    feed = Feed(dataset, recipe.batch_size, recipe.seed)

    def loop(epoch: int) -> None:
        for images, labels in feed.epoch(epoch):
            scores = model(torch.from_numpy(images))
            loss = nn.functional.cross_entropy(scores, torch.from_numpy(labels))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return loop


if __name__ == "__main__":
    measured = main(json.loads(sys.argv[1]), Journal(sys.argv[2]), int(sys.argv[3]))
    print(json.dumps(measured))
