"""The optimizers' formulas, as functions that JAX compiles into the step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
from jax import numpy as jnp

if TYPE_CHECKING:
    from prumo_worker.frameworks.jax.network import Arrays
    from prumo_worker.recipe import Recipe


_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8

Memory = dict[str, Any]
"""What an optimizer carries from step to step."""


def fresh_memory(recipe: Recipe, weights: Arrays) -> Memory:
    """Before the first step; without momentum there is nothing to keep."""
    if recipe.optimizer == "adam":
        steps = jnp.zeros((), jnp.int32)
        return {"steps": steps, "first": _zeros_like(weights), "second": _zeros_like(weights)}
    return {"velocity": _zeros_like(weights)} if recipe.momentum else {}


def updated(
    recipe: Recipe, weights: Arrays, memory: Memory, gradients: Arrays, rate: jax.Array
) -> tuple[Arrays, Memory]:
    """Weights and memory after one more step."""
    if recipe.weight_decay:
        gradients = {
            name: slope + recipe.weight_decay * weights[name] for name, slope in gradients.items()
        }
    if recipe.optimizer == "adam":
        return _adam(weights, gradients, memory, rate)
    return _sgd(weights, gradients, memory, rate, recipe.momentum)


def _sgd(
    weights: Arrays, gradients: Arrays, memory: Memory, rate: jax.Array, momentum: float
) -> tuple[Arrays, Memory]:
    """The velocity is momentum * velocity + gradient; weight -= learning_rate * velocity."""
    velocity = gradients
    if memory:
        old = memory["velocity"]
        velocity = {name: momentum * old[name] + gradients[name] for name in gradients}
        memory = {"velocity": velocity}
    return {name: weights[name] - rate * velocity[name] for name in weights}, memory


def _adam(
    weights: Arrays, gradients: Arrays, memory: Memory, rate: jax.Array
) -> tuple[Arrays, Memory]:
    """Kingma and Ba 2015, algorithm 1: by the moments without the bias of their beginning."""
    steps = memory["steps"] + 1
    first = _moment(memory["first"], gradients, _BETA1)
    squares = {name: slope**2 for name, slope in gradients.items()}
    second = _moment(memory["second"], squares, _BETA2)
    unbias1, unbias2 = 1 - jnp.float32(_BETA1) ** steps, 1 - jnp.float32(_BETA2) ** steps
    rate = rate / unbias1
    changed = {
        name: weights[name] - rate * first[name] / (jnp.sqrt(second[name] / unbias2) + _EPSILON)
        for name in weights
    }
    return changed, {"steps": steps, "first": first, "second": second}


def _moment(old: Arrays, new: Arrays, beta: float) -> Arrays:
    kept = jnp.float32(beta)
    return {name: kept * old[name] + (1 - kept) * new[name] for name in new}


def _zeros_like(weights: Arrays) -> Arrays:
    return {name: jnp.zeros_like(weight) for name, weight in weights.items()}


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
