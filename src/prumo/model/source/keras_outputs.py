"""How many numbers a model of Keras's gives for each image, as its description tells."""

from __future__ import annotations

from typing import Any

_PASSING = {"Activation", "Softmax", "Dropout"}
"""Layers that give as many numbers as they take."""


def outputs_of(configuration: Any) -> int | None:  # noqa: ANN401 (any JSON value)
    """None where the last layers do not tell, or the description is none."""
    try:
        described = configuration["config"]
        named = described.get("output_layers")
        count = _of_graph(described["layers"], named) if named else _of_row(described["layers"])
    except (KeyError, IndexError, TypeError, AttributeError, StopIteration):
        return None
    return count if isinstance(count, int) else None


def _of_row(layers: Any) -> Any:  # noqa: ANN401 (any JSON value)
    making = next(layer for layer in reversed(layers) if layer["class_name"] not in _PASSING)
    return making["config"]["units"] if making["class_name"] == "Dense" else None


def _of_graph(layers: Any, named: Any) -> Any:  # noqa: ANN401 (any JSON value)
    name = named[0] if isinstance(named[0], str) else named[0][0]
    last = next(layer for layer in layers if layer["config"]["name"] == name)
    if last["class_name"] in _PASSING:
        return last["inbound_nodes"][0]["args"][0]["config"]["shape"][-1]
    return last["config"]["units"] if last["class_name"] == "Dense" else None
