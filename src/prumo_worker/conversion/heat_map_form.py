"""Heat maps in plain operations: those that differentiate exist in no other runtime.

The same Grad-CAM as `prumo_worker.retina.heat_map`, with the way back through the head written
out: pooling, standardizing and dense layers are all that a trained retina model has there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from prumo_worker.conversion.facts import FEATURES, HEAT_MAP
from prumo_worker.conversion.tensorflow_source import ConstantFunction, Taken, constant_function
from prumo_worker.retina.clinical_scale import REFERABLE_FROM

if TYPE_CHECKING:
    from collections.abc import Callable

    Way = tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]

_LEAST = 1e-30


def heat_map_function(
    features: keras.KerasTensor, scores: keras.KerasTensor
) -> tuple[ConstantFunction | None, str]:
    """A function map of features → heat map; or none, and why."""
    head = keras.Model(features, scores)
    _, *layers = head.layers
    if reason := _obstacle(layers):
        return None, reason

    def heat_map(maps: tf.Tensor) -> dict[str, tf.Tensor]:
        return {HEAT_MAP: _heat_map(maps, layers[1:])}

    return constant_function(heat_map, Taken(FEATURES, features.shape, "float32")), ""


def _obstacle(layers: list[keras.layers.Layer]) -> str:
    """The first layer of a head whose way back is not written down here; empty for none."""
    if not isinstance(layers[0], keras.layers.GlobalAveragePooling2D):
        return f"its head begins with {type(layers[0]).__name__} and not with an average"
    for layer in layers[1:]:
        if isinstance(layer, (keras.layers.Normalization, keras.layers.Dropout)):
            continue
        if not isinstance(layer, keras.layers.Dense):
            return f"its head has the layer {layer.name}, a {type(layer).__name__}"
        if layer.activation not in (keras.activations.relu, keras.activations.linear):
            return f"the layer {layer.name} of its head has another activation than relu"
    return ""


def _heat_map(features: tf.Tensor, layers: list[keras.layers.Layer]) -> tf.Tensor:
    x = tf.reduce_mean(features, axis=(1, 2))
    ways_back = []
    for layer in layers:
        x, back = _through(layer, x)
        ways_back.append(back)
    gradient = _log_odds_gradient(x)
    for back in reversed(ways_back):
        gradient = back(gradient)
    cells = features.shape[1] * features.shape[2]
    # Through an average every cell has the same gradient, which is then its mean over the map.
    weights = tf.reshape(gradient / cells, (-1, 1, 1, features.shape[3]))
    maps = tf.nn.relu(tf.reduce_sum(weights * features, axis=-1))
    return maps / tf.maximum(tf.reduce_max(maps, axis=(1, 2), keepdims=True), _LEAST)


def _through(layer: keras.layers.Layer, x: tf.Tensor) -> Way:
    """What a layer gives, and how a gradient goes back through it."""
    if isinstance(layer, keras.layers.Dropout):
        return x, lambda gradient: gradient
    if isinstance(layer, keras.layers.Normalization):
        spread = tf.maximum(tf.sqrt(tf.cast(layer.variance, tf.float32)), keras.config.epsilon())
        return (x - layer.mean) / spread, lambda gradient: gradient / spread
    kernel = tf.convert_to_tensor(layer.kernel)
    before = tf.matmul(x, kernel)
    if layer.use_bias:
        before += layer.bias

    def back(gradient: tf.Tensor) -> tf.Tensor:
        if layer.activation is keras.activations.relu:
            gradient = gradient * tf.cast(before > 0, tf.float32)
        return tf.matmul(gradient, tf.transpose(kernel))

    return layer.activation(before), back


def _log_odds_gradient(scores: tf.Tensor) -> tf.Tensor:
    """Of the log-odds of a referral, with respect to each score."""
    if scores.shape[1] == 1:
        return tf.ones_like(scores)
    below = tf.nn.softmax(scores[:, :REFERABLE_FROM], axis=1)
    referable = tf.nn.softmax(scores[:, REFERABLE_FROM:], axis=1)
    return tf.concat([-below, referable], axis=1)
