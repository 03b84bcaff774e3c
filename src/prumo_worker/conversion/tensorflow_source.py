"""A network of TensorFlow's, opened: what is asked, what is converted, what is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from prumo_worker.conversion.facts import NetworkFacts, image_shape, kind_of_output, require_classes
from prumo_worker.failure import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np

    from prumo_worker.conversion.request import Wish

    Network = Callable[[tf.Tensor], Mapping[str, tf.Tensor]]

_PASSED_BY = {"Identity", "Reshape", "Squeeze", "Cast"}
_DTYPES = ("float32", "uint8")
_ROW_RANK = 2


@dataclass(frozen=True)
class Taken:
    """The tensor that a network takes."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str


@dataclass(frozen=True)
class ConstantFunction:
    """A network as one graph, with its weights as constants and all that it calls inside it."""

    function: Any
    outputs: tuple[str, ...]
    """Their names, in the order of the function's own."""

    @property
    def input(self) -> str:
        """The name of what it takes, which TensorFlow may have changed a little."""
        return str(self.function.inputs[0].op.name)


@dataclass(frozen=True)
class TensorflowSource:
    """A network that was opened."""

    facts: NetworkFacts
    network: ConstantFunction
    """Images → its outputs."""
    reference: Callable[[np.ndarray], Mapping[str, np.ndarray]]
    """What the original answers, in its own way."""
    heat_map: ConstantFunction | None = None
    """Map of features → heat map; none where there can be none."""


def classifier(network: Network, taken: Taken, wish: Wish) -> TensorflowSource:
    """Any network that gives one row of numbers for each image."""
    layout, height, width = image_shape(taken.shape, wish)
    if taken.dtype not in _DTYPES:
        raise DataError(f"{wish.source} takes images as {taken.dtype}, not {' or '.join(_DTYPES)}")
    shape = (None, height, width, 3) if layout == "NHWC" else (None, 3, height, width)
    constant = constant_function(network, Taken(taken.name, shape, taken.dtype))
    place = _row_place(constant, wish.source)
    output = constant.outputs[place]
    classes = require_classes(tuple(constant.function.outputs[place].shape), wish.source)
    kind, activation = kind_of_output(_last_operation(constant, place), classes)
    facts = NetworkFacts(
        constant.input, height, width, layout, taken.dtype, output, kind, activation
    )

    def reference(images: np.ndarray) -> dict[str, np.ndarray]:
        return {output: network(tf.constant(images))[output].numpy()}

    return TensorflowSource(facts, constant, reference)


def constant_function(network: Network, taken: Taken) -> ConstantFunction:
    """A network whose variables are not needed any more; all that it gives is in 32 bits."""

    def answers(batch: tf.Tensor) -> dict[str, tf.Tensor]:
        return {name: tf.cast(value, tf.float32) for name, value in network(batch).items()}

    traced = concrete(answers, taken)
    return ConstantFunction(
        convert_variables_to_constants_v2(traced), tuple(sorted(traced.structured_outputs))
    )


def concrete(network: Network, taken: Taken) -> Any:  # noqa: ANN401 (TensorFlow has no types here)
    """A function of TensorFlow's of one named tensor, whose first axis is free."""
    spec = tf.TensorSpec((None, *taken.shape[1:]), taken.dtype, name=taken.name)
    return tf.function(network, input_signature=[spec], autograph=False).get_concrete_function()


def _row_place(constant: ConstantFunction, source: Path) -> int:
    """Which of the outputs has a row for each image."""
    ranks = [tensor.shape.rank for tensor in constant.function.outputs]
    if len(ranks) > 1 and ranks.count(_ROW_RANK) != 1:
        raise DataError(
            f"{source} has {len(ranks)} outputs ({', '.join(constant.outputs)}); a classifier of "
            "images has one with a number for each class"
        )
    return ranks.index(_ROW_RANK) if _ROW_RANK in ranks else 0


def _last_operation(constant: ConstantFunction, place: int) -> str:
    """What makes an output: `Softmax`, `BiasAdd`."""
    operation = constant.function.outputs[place].op
    while operation.type in _PASSED_BY:
        operation = operation.inputs[0].op
    return str(operation.type)
