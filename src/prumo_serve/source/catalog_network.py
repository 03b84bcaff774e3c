"""A network of Prumo's catalog with random weights, as an ONNX file or for TensorFlow to build.

How fast a network answers hardly depends on its weights: speed and cost of an endpoint can be
measured before anything is trained.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from prumo.errors import InputError, did_you_mean
from prumo_serve.source import CATALOG_FORMAT, file_source
from prumo_worker.networks import layer
from prumo_worker.networks.catalog import CATALOG
from prumo_worker.networks.layer import margins
from prumo_worker.networks.network import IMAGE, assemble
from prumo_worker.networks.operation import Extent, NetworkError, Operation, pair
from prumo_worker.networks.weights import initial_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from prumo_serve.source import Source
    from prumo_worker.networks.network import Network, Node

OPSET = 17
IR_VERSION = 8
_SEED = 1
_CHANNELS = 3
# Of 4 bytes each, in a file of at most 2 GiB.
_MOST_PARAMETERS = 500_000_000


def write_catalog_network(
    name: str, path: Path, size_pixels: int | None = None, classes: int | None = None
) -> Network:
    """Write the network for colour images of this size; its own where nothing is said.

    Raises:
        InputError: There is no such network, or it does not fit such images.
    """
    network = _catalog_network(name, size_pixels, classes)
    if network.parameters > _MOST_PARAMETERS:
        raise InputError(
            f"{name} has {network.parameters:,} parameters for images of "
            f"{network.input_shape[1]} pixels, more than an ONNX file can hold; take smaller images"
        )
    onnx.save(_model(network, _with_scales(network)), path)
    return network


def describe_catalog_network(
    name: str, path: Path, size_pixels: int | None = None, classes: int | None = None
) -> Source:
    """The same network with the same weights, described so that a framework can build it."""
    network = _catalog_network(name, size_pixels, classes)
    described = {
        "network": {
            "name": name,
            "image_size": network.input_shape[1],
            "channels": _CHANNELS,
            "classes": network.classes,
        },
        "seed": _SEED,
    }
    path.write_text(json.dumps(described), "utf-8")
    return file_source(path, CATALOG_FORMAT, outputs=network.classes)


def _catalog_network(name: str, size_pixels: int | None, classes: int | None) -> Network:
    entry = CATALOG.get(name)
    if entry is None:
        raise InputError(f"no network '{name}': {did_you_mean(name, CATALOG)}")
    if entry.channels != _CHANNELS:
        raise InputError(f"{name} takes images without colours, which are not served")
    side = size_pixels or entry.image_size
    try:
        layers = entry.layers(classes or entry.classes)
        return assemble(name, (_CHANNELS, side, side), layers)
    except NetworkError as error:
        raise InputError(str(error)) from error


def _with_scales(network: Network) -> dict[str, np.ndarray]:
    """The initial weights; ONNX wants a scale also where a normalization has none."""
    weights = initial_weights(network, _SEED)
    for name in [name for name in weights if name.endswith(".variance")]:
        weights.setdefault(f"{name.removesuffix('variance')}weight", np.ones_like(weights[name]))
    return weights


def _model(network: Network, weights: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    nodes, arrays = [], []
    for node in _needed(network):
        kind, attributes, constants = _operator(node)
        own = {name: weights[f"{node.name}.{name}"] for name in _array_names(node)} | constants
        names = [f"{node.name}.{name}" for name in own]
        nodes.append(helper.make_node(kind, [*node.inputs, *names], [node.name], **attributes))
        arrays += [
            numpy_helper.from_array(np.ascontiguousarray(array), name)
            for name, array in zip(names, own.values(), strict=True)
        ]
    scores = network.nodes[-1].name
    shape = ["batch", *network.input_shape]
    graph = helper.make_graph(
        nodes,
        network.name,
        [helper.make_tensor_value_info(IMAGE, TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(scores, TensorProto.FLOAT, ["batch", network.classes])],
        arrays,
    )
    return helper.make_model(
        graph,
        producer_name="prumo",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )


def _needed(network: Network) -> list[Node]:
    """The nodes that lead to the scores; further heads are for training."""
    needed = {network.nodes[-1].name}
    for node in reversed(network.nodes):
        if node.name in needed:
            needed.update(node.inputs)
    return [node for node in network.nodes if node.name in needed]


def _array_names(node: Node) -> list[str]:
    """In the order in which ONNX takes them."""
    names = [*node.weight_shapes, *node.state_shapes]
    return ["weight", *names] if names[:1] == ["bias"] else names


Operator = tuple[str, dict[str, Any], dict[str, np.ndarray]]
"""The name of an ONNX operator, its attributes, and constants that it takes as inputs."""


def _operator(node: Node) -> Operator:
    return _OPERATORS[type(node.operation)](node.operation, node)


def _convolution(operation: layer.Convolution, _node: Node) -> Operator:
    pads = [*pair(operation.padding)] * 2
    window = _window(operation.kernel, operation.stride, pads)
    return "Conv", {**window, "group": operation.groups}, {}


def _pooling(operation: layer.Pooling, node: Node) -> Operator:
    (top, bottom), (left, right) = margins(operation, node.input_shapes[0])
    kind = "MaxPool" if isinstance(operation, layer.MaxPooling) else "AveragePool"
    return kind, _window(operation.kernel, operation.stride, [top, left, bottom, right]), {}


def _window(kernel: Extent, stride: int, pads: list[int]) -> dict[str, Any]:
    return {"kernel_shape": list(pair(kernel)), "strides": [stride] * 2, "pads": pads}


def _padding(operation: layer.Padding, _node: Node) -> Operator:
    before, behind = [operation.top, operation.left], [operation.bottom, operation.right]
    return "Pad", {}, {"pads": np.array([0, 0, *before, 0, 0, *behind], np.int64)}


def _response_normalization(operation: layer.LocalResponseNormalization, _node: Node) -> Operator:
    attributes = {"size": operation.size, "alpha": operation.alpha, "beta": operation.beta}
    return "LRN", {**attributes, "bias": operation.k}, {}


_OPERATORS: dict[type[Operation], Callable[[Any, Node], Operator]] = {
    layer.Convolution: _convolution,
    layer.MaxPooling: _pooling,
    layer.AveragePooling: _pooling,
    layer.Padding: _padding,
    layer.LocalResponseNormalization: _response_normalization,
    layer.BatchNormalization: lambda operation, _: (
        "BatchNormalization",
        {"epsilon": operation.epsilon},
        {},
    ),
    layer.ClippedRectifier: lambda operation, _: (
        "Clip",
        {},
        {"low": np.zeros((), np.float32), "high": np.full((), operation.limit, np.float32)},
    ),
    layer.GlobalAveragePooling: lambda *_: ("ReduceMean", {"axes": [2, 3], "keepdims": 0}, {}),
    layer.Flatten: lambda *_: ("Flatten", {}, {}),
    layer.Dense: lambda *_: ("Gemm", {"transB": 1}, {}),
    layer.Rectifier: lambda *_: ("Relu", {}, {}),
    layer.Tanh: lambda *_: ("Tanh", {}, {}),
    # Only training drops anything.
    layer.Dropout: lambda *_: ("Identity", {}, {}),
    layer.Add: lambda *_: ("Sum", {}, {}),
    layer.Concatenate: lambda *_: ("Concat", {"axis": 1}, {}),
}
