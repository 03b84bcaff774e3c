"""A network of Keras's that computes in 16 bits, as one that computes in 32.

Training in mixed precision keeps all weights in 32 bits. Other runtimes decide by themselves in
how many bits they compute, and few know a network that changes between them.
"""

from __future__ import annotations

from typing import Any

import keras

_PRECISIONS = {
    "mixed_bfloat16": "bf16",
    "bfloat16": "bf16",
    "mixed_float16": "fp16",
    "float16": "fp16",
}
_FULL = "float32"


def in_full_precision(network: keras.Model) -> tuple[keras.Model, str]:
    """The network in 32 bits, and the precision that it had."""
    document = keras.saving.serialize_keras_object(network)
    found = {_PRECISIONS[name] for name in _policies(document) if name in _PRECISIONS}
    if not found:
        return network, "fp32"
    full = keras.saving.deserialize_keras_object(_widened(document), safe_mode=True)
    full.set_weights(network.get_weights())
    return full, "bf16" if "bf16" in found else "fp16"


def _policies(value: Any) -> set[str]:  # noqa: ANN401 (any JSON value)
    """The names of all policies in a network's description."""
    if isinstance(value, dict):
        own = {value["config"]["name"]} if _is_policy(value) else set()
        return own.union(*map(_policies, value.values()))
    if isinstance(value, (list, tuple)):
        return set().union(*map(_policies, value))
    return set()


def _widened(value: Any) -> Any:  # noqa: ANN401 (any JSON value)
    if isinstance(value, dict):
        if _is_policy(value):
            return {**value, "config": {**value["config"], "name": _FULL}}
        return {key: _widened(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_widened, value))
    return value


def _is_policy(value: dict[str, Any]) -> bool:
    return value.get("class_name") == "DTypePolicy" and "name" in value.get("config", {})
