"""Rede 1 in PyTorch as a user would write it by hand: no marks, no accuracy, no journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from prumo_worker.data.dataset import Feed

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_worker.data.dataset import Dataset
    from prumo_worker.recipe import Recipe


def plain_loop(recipe: Recipe, dataset: Dataset) -> Callable[[int], None]:
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
    optimizer = torch.optim.SGD(
        model.parameters(), lr=recipe.learning_rate, momentum=recipe.momentum
    )
    feed = Feed(dataset, recipe.batch_size, recipe.seed)

    def loop(epoch: int) -> None:
        for images, labels in feed.epoch(epoch):
            scores = model(torch.from_numpy(images))
            loss = nn.functional.cross_entropy(scores, torch.from_numpy(labels))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return loop
