"""What stands above the backbone: pooled features → scores → probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import keras
import numpy as np

from prumo_worker.retina.heat_map import SCORES_LAYER

if TYPE_CHECKING:
    from prumo_worker.retina.recipe import RetinaRecipe

PROBABILITIES_LAYER = "probabilities"
# Far below the spread of any feature that tells something.
_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class FeatureScale:
    """Mean and variance of each feature over the training photographs."""

    mean: np.ndarray
    variance: np.ndarray


def feature_scale(features: np.ndarray) -> FeatureScale:
    """Measured in double precision, so that it is the same however the rows are ordered."""
    wide = features.astype(np.float64)
    variance = np.maximum(wide.var(axis=0), _LEAST_VARIANCE)
    return FeatureScale(wide.mean(axis=0), variance)


def scores_of(
    features: keras.KerasTensor, recipe: RetinaRecipe, scale: FeatureScale | None
) -> keras.KerasTensor:
    """New layers: standardized features where a scale is given, hidden layers, the scores."""
    x = features
    if scale is not None:
        x = keras.layers.Normalization(
            mean=scale.mean, variance=scale.variance, name="standardize"
        )(x)
    for position, width in enumerate(recipe.widths, start=1):
        x = keras.layers.Dense(width, activation="relu", name=f"hidden{position}")(x)
    # In full precision whatever the rest computes in: probabilities are made of these.
    return keras.layers.Dense(
        recipe.outputs, kernel_initializer=_first(recipe), dtype="float32", name=SCORES_LAYER
    )(x)


def probabilities_of(scores: keras.KerasTensor, recipe: RetinaRecipe) -> keras.KerasTensor:
    """The last activation: of one referral, or over the grades."""
    kind = "sigmoid" if recipe.outputs == 1 else "softmax"
    return keras.layers.Activation(kind, dtype="float32", name=PROBABILITIES_LAYER)(scores)


def _first(recipe: RetinaRecipe) -> str:
    """A linear head begins at zero, so that its training depends on no chance at all."""
    return "glorot_uniform" if recipe.widths else "zeros"
