"""Rede 1 in MXNet as a user would write it by hand: no marks, no accuracy, no journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mxnet as mx
from mxnet import autograd, gluon
from mxnet.gluon import nn

from prumo_worker.data.dataset import Feed

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_worker.data.dataset import Dataset
    from prumo_worker.recipe import Recipe


def plain_loop(recipe: Recipe, dataset: Dataset) -> Callable[[int], None]:
    model = nn.HybridSequential()
    model.add(
        nn.Conv2D(32, 3, padding=1, activation="relu"),
        nn.Conv2D(32, 3, padding=1, activation="relu"),
        nn.MaxPool2D(2),
        nn.Conv2D(64, 3, padding=1, activation="relu"),
        nn.Conv2D(64, 3, padding=1, activation="relu"),
        nn.MaxPool2D(2),
        nn.Flatten(),
        nn.Dense(256, activation="relu"),
        nn.Dense(dataset.classes),
    )
    model.initialize()
    model.hybridize(static_alloc=True, static_shape=True)
    cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    cross_entropy.hybridize(static_alloc=True, static_shape=True)
    settings = {"learning_rate": recipe.learning_rate, "momentum": recipe.momentum}
    trainer = gluon.Trainer(model.collect_params(), "sgd", settings, kvstore=None)
    feed = Feed(dataset, recipe.batch_size, recipe.seed)

    def loop(epoch: int) -> None:
        for images, labels in feed.epoch(epoch):
            with autograd.record():
                loss = cross_entropy(model(mx.nd.array(images)), mx.nd.array(labels))
            loss.backward()
            trainer.step(len(labels))
        mx.nd.waitall()

    return loop
