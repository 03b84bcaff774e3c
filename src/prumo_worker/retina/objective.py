"""What a network is trained for: the classes of a task, their loss, and what counts as right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from prumo_worker.failure import DataError
from prumo_worker.retina.clinical_scale import REFERABLE_FROM

if TYPE_CHECKING:
    from prumo_worker.retina.recipe import RetinaRecipe

REFERRAL = "referral"


def classes_of(grades: np.ndarray, task: str) -> np.ndarray:
    """Referable or not as 1 and 0, or the grades themselves."""
    classes: np.ndarray = grades
    if task == REFERRAL:
        classes = (grades >= REFERABLE_FROM).astype(np.int64)
    return classes


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
