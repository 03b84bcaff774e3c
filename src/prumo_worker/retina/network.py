"""The whole network as it is kept and used: raw pixels → probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import keras
import numpy as np
import tensorflow as tf

from prumo_worker.retina.recipe import REFERABLE_FROM, RetinaRecipe
from prumo_worker.task import DataError

if TYPE_CHECKING:
    from prumo_worker.retina.backbones import Backbone


SCORES_LAYER = "scores"
_MAP_RANK = 4


class SplitNetwork:
    """A network cut in two at its last map of features, so that both halves can be asked."""

    def __init__(self, network: keras.Model) -> None:
        features = last_feature_map(network)
        self._below = keras.Model(network.input, features)
        # The tensors between the halves stay the same, whether or not the backbone is a model.
        self._above = keras.Model(features, network.get_layer(SCORES_LAYER).output)
        self._both = tf.function(
            self._scores_and_maps,
            input_signature=[tf.TensorSpec(network.input_shape, tf.float32)],
            autograph=False,
        )

    def answer(self, images: tf.Tensor) -> tuple[np.ndarray, ...]:
        """The scores of each photograph, and its heat map (rows, columns) from 0 to 1."""
        scores, maps = self._both(images)
        return scores.numpy(), maps.numpy()

    def _scores_and_maps(self, images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        features = self._below(images, training=False)
        with tf.GradientTape() as tape:
            tape.watch(features)
            scores = tf.cast(self._above(features, training=False), tf.float32)
            reason = referral_log_odds(scores)
        weights = tf.reduce_mean(tape.gradient(reason, features), axis=(1, 2), keepdims=True)
        maps = tf.nn.relu(tf.cast(tf.reduce_sum(weights * features, axis=-1), tf.float32))
        return scores, tf.math.divide_no_nan(maps, tf.reduce_max(maps, axis=(1, 2), keepdims=True))


def referral_log_odds(scores: tf.Tensor) -> tf.Tensor:
    """Of each photograph; the one output of a `referral` network is that already."""
    if scores.shape[1] == 1:
        return scores[:, 0]
    referable = tf.reduce_logsumexp(scores[:, REFERABLE_FROM:], axis=1)
    return referable - tf.reduce_logsumexp(scores[:, :REFERABLE_FROM], axis=1)


def last_feature_map(network: keras.Model) -> keras.KerasTensor:
    """What the last layer takes that takes a map with rows and columns: the pooling, as a rule.

    Asked from above, because a backbone that is a model itself tells only its own inner tensors.
    """
    takers = [
        layer
        for layer in network.layers
        if not isinstance(layer, (keras.Model, keras.layers.InputLayer))
        and isinstance(layer.input, keras.KerasTensor)
        and len(layer.input.shape) == _MAP_RANK
    ]
    if not takers:
        raise DataError("the network has no map of features, of which a heat map is made")
    features: keras.KerasTensor = takers[-1].input
    return features


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
    # A linear head begins at zero, so that its training depends on no chance at all.
    first = "glorot_uniform" if recipe.widths else "zeros"
    # In full precision whatever the rest computes in: probabilities are made of these.
    return keras.layers.Dense(
        recipe.outputs, kernel_initializer=first, dtype="float32", name=SCORES_LAYER
    )(x)


def whole_network(
    backbone: Backbone, recipe: RetinaRecipe, scale: FeatureScale | None = None
) -> keras.Model:
    """Normalization, backbone, pooling and a new head, in one model that takes pixels 0 to 255."""
    pixels = keras.Input((recipe.image_size, recipe.image_size, 3), name="pixels")
    features = pooled_features(backbone, pixels)
    scores = scores_of(features, recipe, scale)
    kind = "sigmoid" if recipe.outputs == 1 else "softmax"
    last = keras.layers.Activation(kind, dtype="float32", name=PROBABILITIES_LAYER)
    return keras.Model(pixels, last(scores), name=f"retina_{recipe.network}")


def feature_network(backbone: Backbone, recipe: RetinaRecipe) -> keras.Model:
    """The same up to the pooled features."""
    pixels = keras.Input((recipe.image_size, recipe.image_size, 3), name="pixels")
    return keras.Model(pixels, pooled_features(backbone, pixels), name="features")


def head_network(channels: int, recipe: RetinaRecipe, scale: FeatureScale | None) -> keras.Model:
    """A head by itself: pooled features → scores."""
    features = keras.Input((channels,), name="features")
    return keras.Model(features, scores_of(features, recipe, scale), name="head")


def scores_network(network: keras.Model) -> keras.Model:
    """The same network up to its scores, with the same layers."""
    return keras.Model(network.input, network.get_layer(SCORES_LAYER).output)


def copy_head(head: keras.Model, network: keras.Model) -> None:
    """Put the weights of a head by itself into the same layers of a whole network."""
    for layer in head.layers:
        if layer.weights:
            network.get_layer(layer.name).set_weights(layer.get_weights())


def pooled_features(backbone: Backbone, pixels: keras.KerasTensor) -> keras.KerasTensor:
    """The mean over rows and columns of what the backbone sees in raw pixels."""
    how = backbone.normalization
    if how.channels == "bgr":
        pixels = keras.ops.flip(pixels, axis=-1)
    normalize = keras.layers.Rescaling(
        scale=[1 / scale for scale in how.scale],
        offset=[-offset / scale for offset, scale in zip(how.offset, how.scale)],
        name="normalization",
    )
    features = backbone.network(normalize(pixels))
    return keras.layers.GlobalAveragePooling2D(name="pool")(features)
