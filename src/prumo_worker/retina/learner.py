"""A network that learns: steps over all devices of a placement, scores, and what it remembers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import tensorflow as tf

from prumo_worker.frameworks.tensorflow import memory_errors
from prumo_worker.retina.network import SCORES_LAYER
from prumo_worker.retina.recipe import REFERABLE_FROM, RetinaRecipe
from prumo_worker.task import DataError

if TYPE_CHECKING:
    from prumo_worker.retina.strategy import Placement


REFERRAL = "referral"


def classes_of(grades: np.ndarray, task: str) -> np.ndarray:
    """Referable or not as 1 and 0, or the grades themselves."""
    return (grades >= REFERABLE_FROM).astype(np.int64) if task == REFERRAL else grades


def class_weights(grades: np.ndarray, recipe: RetinaRecipe) -> np.ndarray:
    """How much a photograph of each class counts: the same, or so that all classes weigh alike.

    A class without photographs has nothing to weigh.
    """
    classes = classes_of(grades, recipe.task)
    counts = np.bincount(classes, minlength=max(2, recipe.outputs))
    if (counts > 0).sum() < 2:  # noqa: PLR2004 (one class cannot be told from another)
        raise DataError(
            f"all {len(grades)} training photographs are of one class of the task {recipe.task}"
        )
    weights: np.ndarray = np.ones(len(counts), np.float32)
    if recipe.class_weights:
        there = counts > 0
        weights[there] = len(classes) / (there.sum() * counts[there])
    return weights


def weighed_shift(weights: np.ndarray, outputs: int) -> np.ndarray:
    """What class weights add to the scores that fit best: the logarithm of the weights.

    Whoever takes it off again has probabilities for photographs as common as those trained on
    (Elkan 2001, "The Foundations of Cost-Sensitive Learning").
    """
    logarithms: np.ndarray = np.log(weights)
    return logarithms[1:] - logarithms[0] if outputs == 1 else logarithms


def losses(scores: tf.Tensor, classes: tf.Tensor) -> tf.Tensor:
    """The cross-entropy of each photograph."""
    if scores.shape[1] == 1:
        targets = tf.cast(classes, tf.float32)
        return tf.nn.sigmoid_cross_entropy_with_logits(targets, scores[:, 0])
    return tf.nn.sparse_softmax_cross_entropy_with_logits(classes, scores)


def right(scores: tf.Tensor, classes: tf.Tensor) -> tf.Tensor:
    """Whether the more likely class is the true one, for each photograph."""
    if scores.shape[1] == 1:
        return tf.equal(tf.cast(scores[:, 0] >= 0, classes.dtype), classes)
    return tf.equal(tf.argmax(scores, axis=1, output_type=classes.dtype), classes)


class Answers:
    """A network in inference mode: nothing is updated, and nothing is left to chance."""

    def __init__(self, network: keras.Model, placement: Placement) -> None:
        self._network = network
        self._strategy = placement.strategy
        self._answer = tf.function(self._on_all)

    @memory_errors()
    def to(self, batches: Iterable[Any], count: int) -> np.ndarray:
        """The first so many answers, in the order of the inputs."""
        return np.concatenate(list(self.each(batches)))[:count]

    def each(self, batches: Iterable[Any]) -> Iterator[np.ndarray]:
        """The answers to one batch after the other."""
        for batch in batches:
            parts = self._strategy.experimental_local_results(self._answer(batch))
            yield np.concatenate([part.numpy() for part in parts])

    def _on_all(self, inputs: Any) -> Any:  # noqa: ANN401 (one tensor, or one for each device)
        return self._strategy.run(lambda part: self._network(part, training=False), args=(inputs,))


Batch = tuple[Any, Any]
"""Inputs and classes: tensors, or one tensor of each for every device."""

_OPTIMIZERS = {
    "adam": keras.optimizers.Adam,
    "sgd": keras.optimizers.SGD,
    "rmsprop": keras.optimizers.RMSprop,
}


class Learner:
    """Trains a network from inputs to scores; every step is waited for, so that it can be timed.

    Class weights make rare classes look common to the loss alone: the scores stay those of classes
    as common as they are, or probabilities made of them would be wrong.
    """

    def __init__(
        self,
        network: keras.Model,
        recipe: RetinaRecipe,
        placement: Placement,
        grades: np.ndarray,
        signature: Any = None,  # noqa: ANN401 (TensorFlow's own)
    ) -> None:
        self.network = network
        self._strategy = placement.strategy
        weights = class_weights(grades, recipe)
        shift = weighed_shift(weights, recipe.outputs)
        self._class_weights, self._shift = tf.constant(weights), tf.constant(shift)
        # The loss is a mean over photographs, and every device adds its gradient of the penalty.
        self._decay = recipe.weight_decay / len(grades) / placement.replicas
        self._decayed = [
            layer.kernel for layer in network.layers if isinstance(layer, keras.layers.Dense)
        ]
        with self._strategy.scope():
            # So that the loss begins at classes that are equally likely.
            network.get_layer(SCORES_LAYER).bias.assign(-shift)
            optimizer = _OPTIMIZERS[recipe.optimizer](recipe.learning_rate)
            if recipe.precision == "fp16":
                optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
            optimizer.build(network.trainable_variables)
        self._optimizer = optimizer
        self._answers = Answers(network, placement)
        # One trace for batches of all sizes, also for the last one of an epoch.
        self._step = tf.function(self._train_on_all, input_signature=signature)

    def set_learning_rate(self, rate: float) -> None:
        """Of the next step."""
        self._optimizer.learning_rate.assign(rate)

    @memory_errors()
    def step(self, batch: Batch) -> tuple[float, int, int]:
        """One update; the mean loss, how many were right before it, and of how many.

        Reading the loss waits for the device, without which no time would be a step's own.
        """
        loss, hits, count = self._step(*batch)
        return float(loss), int(hits), int(count)

    def scores(self, batches: Iterable[Any], count: int) -> np.ndarray:
        """Of so many inputs, in order and in inference mode, float32 (inputs, outputs)."""
        return self._answers.to(batches, count)

    def memory(self) -> list[np.ndarray]:
        """Everything that the next step depends on: weights, statistics, the optimizer's state."""
        return [variable.numpy() for variable in self._variables()]

    def recall(self, memory: Sequence[np.ndarray]) -> None:
        """Be as at that moment."""
        for variable, value in zip(self._variables(), memory):
            variable.assign(value)

    def weights(self) -> list[np.ndarray]:
        """Of the network alone."""
        return [variable.numpy() for variable in self.network.variables]

    def load_weights(self, weights: Sequence[np.ndarray]) -> None:
        """Put weights of this network back."""
        for variable, value in zip(self.network.variables, weights):
            variable.assign(value)

    def _variables(self) -> list[Any]:
        return [*self.network.variables, *self._optimizer.variables]

    def _train_on_all(self, inputs: Any, classes: Any) -> tuple[tf.Tensor, ...]:  # noqa: ANN401 (TensorFlow's own)
        outcomes = self._strategy.run(self._train, args=(inputs, classes))
        total = tf.distribute.ReduceOp.SUM
        return tuple(self._strategy.reduce(total, outcome, axis=None) for outcome in outcomes)

    def _train(self, inputs: tf.Tensor, classes: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """On one device: its share of the batch, and its share of the loss."""
        replicas = tf.distribute.get_replica_context()
        count = replicas.all_reduce("sum", tf.cast(tf.shape(classes)[0], tf.float32))
        with tf.GradientTape() as tape:
            scores = self.network(inputs, training=True)
            weighed = losses(scores + self._shift, classes) * tf.gather(
                self._class_weights, classes
            )
            loss = tf.reduce_sum(weighed) / count
            # As Keras counts it: what is minimized is what is told.
            loss += self._decay / 2 * sum(tf.reduce_sum(kernel**2) for kernel in self._decayed)
            objective = self._optimizer.scale_loss(loss)
        variables = self.network.trainable_variables
        # The optimizer adds up the gradients of all devices.
        self._optimizer.apply(tape.gradient(objective, variables), variables)
        return loss, tf.math.count_nonzero(right(scores, classes)), tf.shape(classes)[0]
