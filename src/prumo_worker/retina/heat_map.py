"""Where in a photograph a network sees a reason to refer: Grad-CAM (Selvaraju 2017).

The last map of features is weighed with the mean gradient, over the map, of the log-odds of a
referral: the only score of a `referral` network; log P(grade 2 and above) - log P(below) of a
`grade` network. Unlike a probability, log-odds keep a gradient where the network is sure. What
speaks against a referral is cut off, and each map is divided by its own maximum: colours tell
where, never how much, and not more in one photograph than in another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from prumo_worker.failure import DataError
from prumo_worker.retina.clinical_scale import REFERABLE_FROM

if TYPE_CHECKING:
    import numpy as np

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
