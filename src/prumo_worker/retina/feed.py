"""Batches for a training in an order given by seed and epoch, and batches for judging."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from prumo_worker.retina.augmentation import augmented
from prumo_worker.retina.clinical_scale import REFERABLE_FROM

if TYPE_CHECKING:
    from prumo_worker.retina.photographs import Photographs
    from prumo_worker.retina.recipe import RetinaRecipe

# Keeps the streams of neighbouring seeds apart for more epochs than anybody trains.
_EPOCHS_APART = 1_000_003


def training_batches(
    photographs: Photographs, recipe: RetinaRecipe, epoch: int, *, whole_only: bool
) -> tf.data.Dataset:
    """Pixels and classes of every photograph once; the last batch with what is left, if wanted."""
    seed = recipe.seed * _EPOCHS_APART + epoch

    def example(
        place: tf.Tensor, picture_and_grade: tuple[tf.Tensor, tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor]:
        picture, grade = picture_and_grade
        if recipe.augment:
            pixels = augmented(picture, tf.stack([tf.constant(seed, tf.int64), place]))
        else:
            pixels = tf.cast(picture, tf.float32)
        return pixels, _class(grade, recipe.task)

    examples = (
        photographs.shuffled(seed)
        .enumerate()
        .map(example, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    )
    return examples.batch(recipe.batch_size, drop_remainder=whole_only).prefetch(tf.data.AUTOTUNE)


def judged_batches(photographs: Photographs, batch_size: int) -> tf.data.Dataset:
    """Pixels in order, as they are; the last batch repeats photographs until it is full.

    So every batch has one shape, which some devices insist on; who reads on knows the count.
    """
    pixels = photographs.in_order().map(lambda picture, _: tf.cast(picture, tf.float32))
    missing = -len(photographs.names) % batch_size
    padded = pixels.concatenate(pixels.repeat().take(missing))
    return padded.batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def _class(grade: tf.Tensor, task: str) -> tf.Tensor:
    return tf.cast(grade >= REFERABLE_FROM, tf.int64) if task == "referral" else grade
