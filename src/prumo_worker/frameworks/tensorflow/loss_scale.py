"""A scale for the loss, without which gradients in half precision would vanish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo_worker.frameworks.tensorflow.optimizer import Optimizer

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
