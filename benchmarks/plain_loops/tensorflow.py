"""Rede 1 in Keras as a user would write it by hand: no marks, no accuracy, no journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf
from tensorflow import keras

from prumo_worker.data.dataset import Feed

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_worker.data.dataset import Dataset
    from prumo_worker.recipe import Recipe


def plain_loop(recipe: Recipe, dataset: Dataset) -> Callable[[int], None]:
    channels, height, width = dataset.shape
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((height, width, channels)),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(256, activation="relu"),
            layers.Dense(dataset.classes),
        ]
    )
    optimizer = keras.optimizers.SGD(recipe.learning_rate, momentum=recipe.momentum)
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    feed = Feed(dataset, recipe.batch_size, recipe.seed, "NHWC")

    def update(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = cross_entropy(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    step = tf.function(update)

    def loop(epoch: int) -> None:
        for images, labels in feed.epoch(epoch):
            step(tf.convert_to_tensor(images), tf.convert_to_tensor(labels))

    return loop
