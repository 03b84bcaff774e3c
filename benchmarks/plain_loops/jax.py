"""Rede 1 in JAX as a user would write it by hand: no marks, no accuracy, no journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np
from jax import numpy as jnp

from prumo_worker.data.dataset import Feed

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_worker.data.dataset import Dataset
    from prumo_worker.recipe import Recipe

    Weights = list[tuple[jax.Array, jax.Array]]

_LAYOUT = ("NHWC", "HWIO", "NHWC")


def plain_loop(recipe: Recipe, dataset: Dataset) -> Callable[[int], None]:
    weights = _weights(dataset, recipe.seed)
    velocities = jax.tree.map(jnp.zeros_like, weights)
    feed = Feed(dataset, recipe.batch_size, recipe.seed, "NHWC")

    def update(
        weights: Weights, velocities: Weights, images: jax.Array, labels: jax.Array
    ) -> tuple[Weights, Weights, jax.Array]:
        loss, gradients = jax.value_and_grad(_loss)(weights, images, labels)
        velocities = jax.tree.map(lambda v, g: recipe.momentum * v + g, velocities, gradients)
        weights = jax.tree.map(lambda w, v: w - recipe.learning_rate * v, weights, velocities)
        return weights, velocities, loss

    step = jax.jit(update, donate_argnums=(0, 1))

    def loop(epoch: int) -> None:
        nonlocal weights, velocities
        for images, labels in feed.epoch(epoch):
            weights, velocities, loss = step(
                weights, velocities, jnp.asarray(images), jnp.asarray(labels.astype(np.int32))
            )
        loss.block_until_ready()

    return loop


def _weights(dataset: Dataset, seed: int) -> Weights:
    channels, height, _ = dataset.shape
    side = height // 4
    shapes: list[tuple[int, ...]] = [
        (3, 3, channels, 32),
        (3, 3, 32, 32),
        (3, 3, 32, 64),
        (3, 3, 64, 64),
        (side * side * 64, 256),
        (256, dataset.classes),
    ]
    keys = jax.random.split(jax.random.key(seed), len(shapes))
    draw = jax.nn.initializers.he_normal()
    return [
        (draw(key, shape), jnp.zeros(shape[-1])) for key, shape in zip(keys, shapes, strict=True)
    ]


def _loss(weights: Weights, images: jax.Array, labels: jax.Array) -> jax.Array:
    values = images
    for place, (kernel, bias) in enumerate(weights[:4]):
        values = jax.lax.conv_general_dilated(
            values, kernel, (1, 1), "SAME", dimension_numbers=_LAYOUT
        )
        values = jax.nn.relu(values + bias)
        if place % 2:
            values = jax.lax.reduce_window(
                values, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
            )
    values = values.reshape(len(values), -1)
    (kernel, bias), (last_kernel, last_bias) = weights[4:]
    scores = jax.nn.relu(values @ kernel + bias) @ last_kernel + last_bias
    shares = jax.nn.log_softmax(scores)
    return -jnp.take_along_axis(shares, labels[:, None], axis=1).mean()
