"""A proof of equality: what a network gives in this framework, from weights and images of a seed.

Whoever compares the proofs of two frameworks sees whether both train the same network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo_worker.data.dataset import Dataset, Feed, generated_images
from prumo_worker.frameworks import Trainer, open_trainer
from prumo_worker.networks import network
from prumo_worker.networks.weights import initial_weights
from prumo_worker.recipe import Recipe, at_least, read_parameters

if TYPE_CHECKING:
    from prumo_worker.journal import Journal
    from prumo_worker.task import Task

SCORES = "scores.npy"
"""The file beside the journal that holds the scores of the batch."""

RATES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""The learning rates that a step is tried with, until it changes the loss by more than a part.

Gradients of fresh weights differ by millions from network to network: one rate for all would be
lost in rounding here and overshoot there.
"""
_ENOUGH = 0.2


@dataclass(frozen=True)
class Question:
    """One network in one framework, and the small batch that it is tried with."""

    framework: str
    network: str
    image_size: int
    channels: int
    classes: int
    images: int = 8
    """Enough for batch normalisation to be well conditioned where an image is one pixel left."""
    seed: int = at_least(0, default=1)


def prove(task: Task, journal: Journal) -> dict[str, float]:
    """Build the network, compute with it, and tell the journal what came out."""
    question = read_parameters(Question, task.parameters)
    image_size, channels, classes = question.image_size, question.channels, question.classes
    net = network(question.network, image_size, channels, classes, task.layers)
    # One plain training on the processor, in which nothing is left to chance.
    recipe = Recipe(
        framework=question.framework,
        network=question.network,
        dataset="generated",
        image_size=image_size,
        batch_size=question.images,
        seed=question.seed,
        dropout=False,
    )
    trainer = open_trainer(net, recipe, task.threads)
    weights = initial_weights(net, question.seed)
    trainer.load(weights)
    images, labels = proof_batch(question, trainer.layout)
    scores = trainer.scores(images)
    np.save(task.journal.parent / SCORES, scores.astype(np.float32))
    loss, losses_after = _steps(trainer, weights, trainer.batch(images, labels))
    journal.event(
        "proof",
        parameters=trainer.parameters,
        scores=SCORES,
        loss=loss,
        steps=[{"learning_rate": rate, "loss_after": after} for rate, after in losses_after],
        inputs=_digest(weights, *proof_batch(question, "NCHW")),
        versions=dict(trainer.versions),
        build=dict(trainer.build),
    )
    return {}


def _steps(
    trainer: Trainer,
    weights: Mapping[str, np.ndarray],
    batch: Any,  # noqa: ANN401 (the trainer's own)
) -> tuple[float, list[tuple[float, float]]]:
    """The loss of the fresh weights, and the loss after one step with each rate."""
    losses_after = []
    for rate in RATES:
        trainer.load(weights)
        trainer.set_learning_rate(rate)
        # The second step's loss is the one that the first step left behind.
        (loss, loss_after), _ = trainer.fetch([trainer.step(batch), trainer.step(batch)])
        losses_after.append((rate, loss_after))
        if not abs(loss_after - loss) <= _ENOUGH * abs(loss):
            break
    return loss, losses_after


def proof_batch(question: Question, layout: str) -> tuple[np.ndarray, np.ndarray]:
    """The images and labels of a question, in the layout that a trainer takes."""
    shape = (question.channels, question.image_size, question.image_size)
    images, labels = generated_images(question.images, shape, question.classes, question.seed)
    dataset = Dataset(images, labels, question.classes, "generated")
    return next(Feed(dataset, question.images, question.seed, layout).epoch(1))


def _digest(weights: Mapping[str, np.ndarray], *batch: np.ndarray) -> str:
    """A mark of all that went in, so that a difference in what comes out is the framework's."""
    mark = hashlib.sha256()
    for array in (*weights.values(), *batch):
        mark.update(np.ascontiguousarray(array).data)
    return mark.hexdigest()[:16]
