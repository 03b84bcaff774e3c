"""A network in a file of Keras's: any classifier, or one that `prumo retina train` made."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from prumo_worker.conversion.facts import FEATURES, HEAT_MAP, NetworkFacts
from prumo_worker.conversion.full_precision import in_full_precision
from prumo_worker.conversion.heat_map_form import heat_map_function
from prumo_worker.conversion.tensorflow_source import (
    Taken,
    TensorflowSource,
    classifier,
    constant_function,
)
from prumo_worker.failure import DataError
from prumo_worker.retina.heat_map import SCORES_LAYER, SplitNetwork, last_feature_map
from prumo_worker.retina.network import scores_network
from prumo_worker.retina.prediction import load_network

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np

    from prumo_worker.conversion.wish import Wish

_OUTPUT = "answers"


def keras_source(wish: Wish) -> TensorflowSource:
    """Any classifier of images, with the output that it has."""
    original = _loaded(wish.source)
    network, precision = in_full_precision(original)
    for tensors, what in ((network.inputs, "inputs"), (network.outputs, "outputs")):
        if len(tensors) != 1:
            raise DataError(f"{wish.source} has {len(tensors)} {what}; a classifier has one")
    taken = network.inputs[0]

    def answers(images: tf.Tensor) -> Mapping[str, tf.Tensor]:
        return {_OUTPUT: network(images, training=False)}

    source = classifier(answers, Taken(taken.name, tuple(taken.shape), taken.dtype), wish)

    def reference(images: np.ndarray) -> dict[str, np.ndarray]:
        answered = original(tf.constant(images), training=False)
        return {_OUTPUT: tf.cast(answered, tf.float32).numpy()}

    facts = replace(source.facts, original_precision=precision)
    return replace(source, facts=facts, reference=reference)


def retina_source(wish: Wish) -> TensorflowSource:
    """A trained retina model: scores, and the map of features of which heat maps are made."""
    trained = load_network(wish.source)
    network, precision = in_full_precision(trained)
    taken = Taken(network.inputs[0].name, network.input_shape, "float32")
    scores = network.get_layer(SCORES_LAYER).output
    features = last_feature_map(network)
    heat_map, reason = heat_map_function(features, scores)
    split = keras.Model(network.input, {SCORES_LAYER: scores, FEATURES: features})

    def answers(images: tf.Tensor) -> Mapping[str, tf.Tensor]:
        given: Mapping[str, tf.Tensor] = split(images, training=False)
        return given

    original, full = scores_network(trained), SplitNetwork(network)

    def reference(images: np.ndarray) -> dict[str, np.ndarray]:
        answered = original(tf.constant(images), training=False)
        # Maps are divided by their maximum: in 16 bits, the rounding of a weak one fills them.
        _, maps = full.answer(tf.constant(images))
        return {SCORES_LAYER: answered.numpy(), HEAT_MAP: maps}

    constant = constant_function(answers, taken)
    facts = NetworkFacts(
        constant.input,
        network.input_shape[1],
        network.input_shape[2],
        "NHWC",
        taken.dtype,
        SCORES_LAYER,
        "scores",
        "sigmoid" if scores.shape[1] == 1 else "softmax",
        features_tensor="" if reason else FEATURES,
        without_heat_map=reason,
        original_precision=precision,
    )
    return TensorflowSource(facts, constant, reference, heat_map)


def _loaded(file: Path) -> keras.Model:
    """Without running any code that the file may bring."""
    try:
        network = keras.saving.load_model(file, compile=False, safe_mode=True)
    except (OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile) as error:
        words = str(error).strip().partition("\n")[0]
        raise DataError(f"{file} cannot be loaded as a network: {words}") from error
    if not isinstance(network, keras.Model):
        raise DataError(f"{file} holds no network but a {type(network).__name__}")
    return network
