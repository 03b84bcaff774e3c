"""Layers as plain data: the form in which a network of the user's own reaches a worker.

A layer is a mapping with its `name`, its `operation` and the settings of that; `inputs` and
`auxiliary` may be left out. The word `classes` stands for their number wherever one is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from prumo_worker.networks.layer import OPERATIONS
from prumo_worker.networks.network import Layer, Network
from prumo_worker.networks.operation import NetworkError, Operation, hint, not_negative

CLASSES = "classes"

_OWN_KEYS = ("name", "operation", "inputs", "auxiliary")


def read_layers(documents: Sequence[Any], classes: int) -> list[Layer]:
    """The layers that a definition describes, for so many classes."""
    return [_placed(position, document, classes) for position, document in enumerate(documents)]


def layer_document(layer: Layer) -> dict[str, Any]:
    """The mapping that describes a layer, without what is as usual."""
    document: dict[str, Any] = {
        "name": layer.name,
        "operation": operation_name(type(layer.operation)),
    }
    if layer.inputs:
        document["inputs"] = list(layer.inputs)
    if layer.auxiliary:
        document["auxiliary"] = layer.auxiliary
    return {**document, **settings(layer.operation)}


def network_documents(network: Network) -> list[dict[str, Any]]:
    """The definition of a network that is already made, for its very number of classes."""
    heads = network.auxiliary
    return [
        layer_document(Layer(node.name, node.operation, node.inputs, heads.get(node.name, 0.0)))
        for node in network.nodes
    ]


def settings(operation: Operation) -> dict[str, Any]:
    """The settings of an operation that are not as usual."""
    return {
        field.name: getattr(operation, field.name)
        for field in fields(operation)
        if getattr(operation, field.name) != field.default
    }


def operation_name(operation: type[Operation]) -> str:
    """How definitions write an operation.

    >>> from prumo_worker.networks.layer import MaxPooling
    >>> operation_name(MaxPooling)
    'max_pooling'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation.__name__).lower()


_OPERATIONS = {operation_name(operation): operation for operation in OPERATIONS}


def _placed(position: int, document: object, classes: int) -> Layer:
    try:
        return _layer(document, classes)
    except NetworkError as error:
        name = document.get("name") if isinstance(document, dict) else None
        place = name if isinstance(name, str) else f"number {position + 1}"
        raise NetworkError(f"layer {place}: {error}", position) from None


def _layer(document: object, classes: int) -> Layer:
    if not isinstance(document, dict):
        raise NetworkError(f"should be a mapping with `name` and `operation`, not {document!r}")
    for key in ("name", "operation"):
        if not isinstance(document.get(key), str):
            raise NetworkError(f"needs a word for its `{key}`")
    kind = document["operation"]
    if kind not in _OPERATIONS:
        raise NetworkError(f"no operation is named {kind!r}; {hint(kind, _OPERATIONS)}")
    given = {key: value for key, value in document.items() if key not in _OWN_KEYS}
    return Layer(
        name=document["name"],
        operation=_operation(_OPERATIONS[kind], given, classes),
        inputs=_inputs(document.get("inputs", ())),
        auxiliary=_number("auxiliary", document.get("auxiliary", 0.0)),
    )


def _operation(kind: type[Operation], given: Mapping[str, Any], classes: int) -> Operation:
    known = {field.name: field for field in fields(kind)}
    for key in given:
        if key not in known:
            name = operation_name(kind)
            raise NetworkError(f"{name} has no {key!r}; {hint(key, [*known, *_OWN_KEYS])}")
    for key, field in known.items():
        if field.default is MISSING and key not in given:
            raise NetworkError(f"needs a number for its `{key}`")
    readers = {"int": _whole, "Extent": _extent, "float": _number, "bool": _flag}
    values = {
        key: readers[str(known[key].type)](key, classes if value == CLASSES else value)
        for key, value in given.items()
    }
    return kind(**values)


def _inputs(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise NetworkError(f"inputs must be names of layers, not {value!r}")
    return tuple(names)


def _whole(key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise NetworkError(f"{key} must be a whole number, not {value!r}")
    return value


def _extent(key: str, value: object) -> int | tuple[int, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(_whole(key, side) for side in value)
    return _whole(key, value)


def _number(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NetworkError(f"{key} must be a number, not {value!r}")
    not_negative(**{key: value})
    return float(value)


def _flag(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise NetworkError(f"{key} must be true or false, not {value!r}")
    return value
