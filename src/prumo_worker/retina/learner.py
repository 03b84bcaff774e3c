"""A network that learns: steps over all devices of a placement, scores, and what it remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from prumo_worker.frameworks.tensorflow.memory import memory_errors
from prumo_worker.retina.answers import Answers
from prumo_worker.retina.heat_map import SCORES_LAYER
from prumo_worker.retina.objective import class_weights, losses, right, weighed_shift

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    from prumo_worker.retina.recipe import RetinaRecipe
    from prumo_worker.retina.strategy import Placement

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

    @property
    def learning_rate(self) -> float:
        """Of the next step."""
        return float(self._optimizer.learning_rate)

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
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
