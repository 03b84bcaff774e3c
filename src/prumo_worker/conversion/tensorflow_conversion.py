"""Networks of Keras and TensorFlow made for another runtime."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Errors only, and before the import.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import tensorflow as tf

from prumo_worker.conversion.facts import (
    FEATURES,
    HEAT_MAP,
    ONNX_FILE,
    OUTPUT,
    NetworkFacts,
    asked_images,
    write_reference,
)
from prumo_worker.conversion.tensorflow_function import (
    SAVED_MODEL_FOLDER,
    ConstantFunction,
    TensorflowSource,
    classifier,
    constant_function,
    saved_model_source,
    write_for_litert,
    write_saved_model,
)
from prumo_worker.frameworks.tensorflow import memory_errors
from prumo_worker.frameworks.tensorflow.network import Graph
from prumo_worker.networks import network as catalog_network
from prumo_worker.networks.network import IMAGE
from prumo_worker.networks.weights import initial_weights
from prumo_worker.retina.network import SCORES_LAYER, SplitNetwork, last_feature_map, scores_network
from prumo_worker.retina.prediction import load_keras, load_network
from prumo_worker.retina.recipe import REFERABLE_FROM
from prumo_worker.task import DataError

if TYPE_CHECKING:
    import numpy as np

    from prumo_worker.conversion import Request
    from prumo_worker.journal import Journal


_PRECISIONS = {
    "mixed_bfloat16": "bf16",
    "bfloat16": "bf16",
    "mixed_float16": "fp16",
    "float16": "fp16",
}


def in_full_precision(network: keras.Model) -> tuple[keras.Model, str]:
    """The network in 32 bits, and the precision that it had."""
    policies: set[str] = set()
    document = _widened(keras.saving.serialize_keras_object(network), policies)
    found = {_PRECISIONS[name] for name in policies if name in _PRECISIONS}
    if not found:
        return network, "fp32"
    full = keras.saving.deserialize_keras_object(document, safe_mode=True)
    full.set_weights(network.get_weights())
    return full, "bf16" if "bf16" in found else "fp16"


def _widened(value: Any, policies: set[str]) -> Any:  # noqa: ANN401 (any JSON value)
    """A network's description in 32 bits; the names of the policies that it had are added."""
    if isinstance(value, dict):
        if value.get("class_name") == "DTypePolicy" and "name" in value.get("config", {}):
            policies.add(value["config"]["name"])
            return {**value, "config": {**value["config"], "name": "float32"}}
        return {key: _widened(inner, policies) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_widened(inner, policies) for inner in value)
    return value


if TYPE_CHECKING:
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

    return constant_function(heat_map, tf.TensorSpec(features.shape, tf.float32, FEATURES)), ""


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


def keras_source(request: Request) -> TensorflowSource:
    """Any classifier of images, with the output that it has."""
    original = load_keras(request.source)
    network, precision = in_full_precision(original)
    for tensors, what in ((network.inputs, "inputs"), (network.outputs, "outputs")):
        if len(tensors) != 1:
            raise DataError(f"{request.source} has {len(tensors)} {what}; a classifier has one")
    taken = network.inputs[0]

    def answers(images: tf.Tensor) -> Mapping[str, tf.Tensor]:
        return {OUTPUT: network(images, training=False)}

    spec = tf.TensorSpec(taken.shape, taken.dtype, taken.name)
    source = classifier(answers, spec, request)

    def reference(images: np.ndarray) -> dict[str, np.ndarray]:
        answered = original(tf.constant(images), training=False)
        return {OUTPUT: tf.cast(answered, tf.float32).numpy()}

    facts = replace(source.facts, original_precision=precision)
    return replace(source, facts=facts, reference=reference)


def retina_source(request: Request) -> TensorflowSource:
    """A trained retina model: scores, and the map of features of which heat maps are made."""
    trained = load_network(request.source)
    network, precision = in_full_precision(trained)
    taken = tf.TensorSpec(network.input_shape, tf.float32, network.inputs[0].name)
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
        "float32",
        SCORES_LAYER,
        "scores",
        "sigmoid" if scores.shape[1] == 1 else "softmax",
        features_tensor="" if reason else FEATURES,
        without_heat_map=reason,
        original_precision=precision,
    )
    return TensorflowSource(facts, constant, reference, heat_map)


def untrained_source(request: Request) -> TensorflowSource:
    """A network of the catalog with the initial weights of a seed."""
    described = json.loads(request.source.read_text("utf-8"))
    network = catalog_network(**described["network"])
    graph = Graph(network)
    graph.load(initial_weights(network, described["seed"]))
    channels, height, width = network.input_shape

    def answers(images: tf.Tensor) -> Mapping[str, tf.Tensor]:
        scores, *_ = graph.outputs(images, training=False)
        return {OUTPUT: scores}

    taken = tf.TensorSpec((None, height, width, channels), tf.float32, IMAGE)
    return classifier(answers, taken, request)


HEAT_MAP_FILE = "heat_map.onnx"
_SOURCES = {
    "catalog": untrained_source,
    "retina": retina_source,
    "keras": keras_source,
    "saved_model": saved_model_source,
}


def _write_onnx(network: ConstantFunction, path: Path) -> dict[str, str]:
    # Imported when wanted: not all environments have tf2onnx.
    from prumo_worker.conversion.onnx_form import write_onnx  # noqa: PLC0415

    return write_onnx(network, path)


def _write(network: ConstantFunction, request: Request) -> dict[str, str]:
    """In the form that the runtime reads; the versions of what wrote it come back."""
    if request.target == "onnxruntime":
        return _write_onnx(network, request.out / ONNX_FILE)
    if request.target == "litert":
        write_for_litert(network, request)
    else:
        write_saved_model(network, request.out / SAVED_MODEL_FOLDER)
    return {}


@memory_errors()
def convert(request: Request, journal: Journal) -> None:
    """Write the original's answers, the network, and the one for heat maps if there can be one."""
    source = _SOURCES[request.origin](request)
    journal.event("stage", text="asking the original")
    write_reference(request.out, asked_images(source.facts, request), source.reference)
    journal.event("stage", text="converting")
    versions = {"tensorflow": tf.__version__, "keras": keras.__version__}
    versions.update(_write(source.network, request))
    if source.heat_map is not None:
        versions.update(_write_onnx(source.heat_map, request.out / HEAT_MAP_FILE))
    journal.event("converted", network=asdict(source.facts), versions=versions)
