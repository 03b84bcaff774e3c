"""The optimizers' formulas with TensorFlow's own kernels, which update a variable in one go.

Keras has the same kernels behind formulas that differ from version to version.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from prumo_worker.recipe import Recipe


_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


def optimizer(variables: Sequence[tf.Variable], recipe: Recipe) -> Optimizer:
    """The one that the recipe names."""
    return Adam(variables, recipe) if recipe.optimizer == "adam" else Sgd(variables, recipe)


class Optimizer(ABC):
    """Turns gradients into updates of the variables it was made for."""

    def __init__(self, variables: Sequence[tf.Variable], recipe: Recipe, slots: int) -> None:
        self._variables = variables
        self._recipe = recipe
        # A variable, so that the graph stays as it is when the rate changes.
        self._rate = tf.Variable(recipe.learning_rate, trainable=False)
        self._steps = tf.Variable(0.0, trainable=False)
        self._slots = [
            [tf.Variable(tf.zeros_like(variable), trainable=False) for variable in variables]
            for _ in range(slots)
        ]

    def update(self, gradients: Sequence[tf.Tensor]) -> None:
        """One step."""
        decay = self._recipe.weight_decay
        if decay:
            pairs = zip(gradients, self._variables)
            gradients = [slope + decay * variable for slope, variable in pairs]
        self._apply(gradients, self._rate.read_value())

    def forget(self) -> None:
        """As if there had been no step yet."""
        for variable in [self._steps, *(one for slot in self._slots for one in slot)]:
            variable.assign(tf.zeros_like(variable))
        self.set_learning_rate(self._recipe.learning_rate)

    def set_learning_rate(self, rate: float) -> None:
        """For the steps to come."""
        self._rate.assign(rate)

    @abstractmethod
    def _apply(self, slopes: Sequence[tf.Tensor], rate: tf.Tensor) -> None: ...


class Sgd(Optimizer):
    """velocity = momentum * velocity + gradient; variable -= learning_rate * velocity."""

    def __init__(self, variables: Sequence[tf.Variable], recipe: Recipe) -> None:
        # Without momentum there is no velocity to keep.
        super().__init__(variables, recipe, slots=1 if recipe.momentum else 0)

    def _apply(self, slopes: Sequence[tf.Tensor], rate: tf.Tensor) -> None:
        for variable, slope, *velocities in zip(self._variables, slopes, *self._slots):
            if not velocities:
                tf.raw_ops.ResourceApplyGradientDescent(
                    var=variable.handle, alpha=rate, delta=slope
                )
            for velocity in velocities:
                tf.raw_ops.ResourceApplyMomentum(
                    var=variable.handle,
                    accum=velocity.handle,
                    lr=rate,
                    grad=slope,
                    momentum=self._recipe.momentum,
                )


class Adam(Optimizer):
    """Kingma and Ba 2015, algorithm 1."""

    def __init__(self, variables: Sequence[tf.Variable], recipe: Recipe) -> None:
        super().__init__(variables, recipe, slots=2)

    def _apply(self, slopes: Sequence[tf.Tensor], rate: tf.Tensor) -> None:
        """The kernel adds epsilon before it corrects the bias, so epsilon is corrected as well."""
        steps = self._steps.assign_add(1.0)
        power1, power2 = tf.pow(_BETA1, steps), tf.pow(_BETA2, steps)
        for variable, slope, first, second in zip(self._variables, slopes, *self._slots):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=first.handle,
                v=second.handle,
                beta1_power=power1,
                beta2_power=power2,
                lr=rate,
                beta1=_BETA1,
                beta2=_BETA2,
                epsilon=_EPSILON * tf.sqrt(1 - power2),
                grad=slope,
            )


_FIRST, _GROWTH_STEPS = 2.0**16, 2000


class LossScale:
    """Doubles after many good steps; halves, and leaves the step out, after an overflow."""

    def __init__(self) -> None:
        self._scale = tf.Variable(_FIRST, trainable=False)
        self._good_steps = tf.Variable(0, trainable=False)

    def scaled(self, loss: tf.Tensor) -> tf.Tensor:
        """What the gradients are to be taken of."""
        return loss * self._scale

    def update(self, gradients: Sequence[tf.Tensor], optimizer: Optimizer) -> None:
        """Let the optimizer take its step if every gradient is finite."""
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(slope)) for slope in gradients])
        if finite:
            optimizer.update([slope / self._scale for slope in gradients])
            self._good_steps.assign_add(1)
            if self._good_steps >= _GROWTH_STEPS:
                self._change(2.0)
        else:
            self._change(0.5)

    def forget(self) -> None:
        """Begin as at first."""
        self._scale.assign(_FIRST)
        self._good_steps.assign(0)

    def _change(self, factor: float) -> None:
        self._scale.assign(self._scale * factor)
        self._good_steps.assign(0)
