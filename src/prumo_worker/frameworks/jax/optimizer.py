"""The optimizers' formulas, as functions that JAX compiles into the step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import jax
from jax import numpy as jnp

if TYPE_CHECKING:
    from prumo_worker.frameworks.jax.network import Arrays
    from prumo_worker.recipe import Recipe


_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8

Memory = dict[str, Any]
"""What an optimizer carries from step to step."""


class Optimizer(Protocol):
    """Turns gradients into new weights."""

    def fresh(self, weights: Arrays) -> Memory:
        """The memory before the first step."""

    def update(
        self, weights: Arrays, gradients: Arrays, memory: Memory, rate: jax.Array
    ) -> tuple[Arrays, Memory]:
        """Weights and memory after one more step."""


def optimizer(recipe: Recipe) -> Optimizer:
    """The one that the recipe names."""
    return Adam(recipe) if recipe.optimizer == "adam" else Sgd(recipe)


class Sgd:
    """velocity = momentum * velocity + gradient; weight -= learning_rate * velocity."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe

    def fresh(self, weights: Arrays) -> Memory:
        """Without momentum there is no velocity to keep."""
        return {"velocity": _zeros_like(weights)} if self._recipe.momentum else {}

    def update(
        self, weights: Arrays, gradients: Arrays, memory: Memory, rate: jax.Array
    ) -> tuple[Arrays, Memory]:
        """Down the velocity, which without momentum is the gradient."""
        velocity = _decayed(gradients, weights, self._recipe.weight_decay)
        if memory:
            old = memory["velocity"]
            velocity = {
                name: self._recipe.momentum * old[name] + velocity[name] for name in velocity
            }
            memory = {"velocity": velocity}
        return {name: weights[name] - rate * velocity[name] for name in weights}, memory


class Adam:
    """Kingma and Ba 2015, algorithm 1."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe

    def fresh(self, weights: Arrays) -> Memory:
        """No step, no moments."""
        return {
            "steps": jnp.zeros((), jnp.int32),
            "first": _zeros_like(weights),
            "second": _zeros_like(weights),
        }

    def update(
        self, weights: Arrays, gradients: Arrays, memory: Memory, rate: jax.Array
    ) -> tuple[Arrays, Memory]:
        """By the moments without the bias of their beginning."""
        steps = memory["steps"] + 1
        slopes = _decayed(gradients, weights, self._recipe.weight_decay)
        first = _moment(memory["first"], slopes, _BETA1)
        squares = {name: slope**2 for name, slope in slopes.items()}
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


def _decayed(gradients: Arrays, weights: Arrays, decay: float) -> Arrays:
    if not decay:
        return gradients
    return {name: slope + decay * weights[name] for name, slope in gradients.items()}


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
