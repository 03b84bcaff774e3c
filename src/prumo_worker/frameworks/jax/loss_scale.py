"""A scale for the loss, without which gradients in half precision would vanish."""

from __future__ import annotations

from typing import NamedTuple

import jax
from jax import numpy as jnp

_FIRST, _GROWTH_STEPS = 2.0**16, 2000


class LossScale(NamedTuple):
    """Doubles after many good steps; halves after an overflow."""

    value: jax.Array
    good_steps: jax.Array

    def after(self, finite: jax.Array) -> LossScale:
        """The scale for the next step."""
        good_steps = jnp.where(finite, self.good_steps + 1, 0)
        grows = good_steps >= _GROWTH_STEPS
        factor = jnp.where(finite, jnp.where(grows, 2.0, 1.0), 0.5)
        return LossScale(self.value * factor, jnp.where(grows, 0, good_steps))


def first_scale() -> LossScale:
    """The scale of the first step."""
    return LossScale(jnp.float32(_FIRST), jnp.int32(0))
