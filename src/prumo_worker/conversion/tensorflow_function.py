"""A network as a function of TensorFlow: read from a SavedModel, written as one or for LiteRT."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from prumo_worker.conversion.facts import NetworkFacts, image_shape, kind_of_output, require_classes
from prumo_worker.task import DataError, TaskError, first_line

if TYPE_CHECKING:
    from prumo_worker.conversion import Request


if TYPE_CHECKING:
    Network = Callable[[tf.Tensor], Mapping[str, tf.Tensor]]

_PASSED_BY = {"Identity", "Reshape", "Squeeze", "Cast"}
_DTYPES = ("float32", "uint8")
_ROW_RANK = 2


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


def classifier(network: Network, taken: tf.TensorSpec, request: Request) -> TensorflowSource:
    """Any network that gives one row of numbers for each image."""
    layout, height, width = image_shape(tuple(taken.shape), request)
    dtype = taken.dtype.name
    if dtype not in _DTYPES:
        raise DataError(f"{request.source} takes images as {dtype}, not {' or '.join(_DTYPES)}")
    shape = (None, height, width, 3) if layout == "NHWC" else (None, 3, height, width)
    constant = constant_function(network, tf.TensorSpec(shape, dtype, taken.name))
    place = _row_place(constant, request.source)
    output = constant.outputs[place]
    classes = require_classes(tuple(constant.function.outputs[place].shape), request.source)
    kind, activation = kind_of_output(_last_operation(constant, place), classes)
    facts = NetworkFacts(constant.input, height, width, layout, dtype, output, kind, activation)

    def reference(images: np.ndarray) -> dict[str, np.ndarray]:
        return {output: network(tf.constant(images))[output].numpy()}

    return TensorflowSource(facts, constant, reference)


def constant_function(network: Network, taken: tf.TensorSpec) -> ConstantFunction:
    """A network whose variables are not needed any more; all that it gives is in 32 bits."""

    def answers(batch: tf.Tensor) -> dict[str, tf.Tensor]:
        return {name: tf.cast(value, tf.float32) for name, value in network(batch).items()}

    traced = concrete(answers, taken)
    return ConstantFunction(
        convert_variables_to_constants_v2(traced), tuple(sorted(traced.structured_outputs))
    )


def concrete(network: Network, taken: tf.TensorSpec) -> Any:  # noqa: ANN401 (TensorFlow has no types here)
    """A function of TensorFlow's of one named tensor, whose first axis is free."""
    spec = tf.TensorSpec((None, *taken.shape[1:]), taken.dtype, taken.name)
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


SAVED_MODEL_FOLDER = "network"
SIGNATURE = "serving_default"
# Says when and by what it was written, and nothing that an answer depends on.
_FINGERPRINT = "fingerprint.pb"


def write_saved_model(network: ConstantFunction, folder: Path) -> None:
    """Write a function whose weights are constants.

    Variables of Keras 3 would lose their values on the way from here to LiteRT, whose converter
    does not say so.
    """
    taken = network.function.inputs[0]

    def answers(images: tf.Tensor) -> dict[str, tf.Tensor]:
        return dict(zip(network.outputs, network.function(images)))

    module = tf.Module()
    module.network = concrete(answers, tf.TensorSpec(taken.shape, taken.dtype, network.input))
    tf.saved_model.save(module, str(folder), signatures={SIGNATURE: module.network})
    (folder / _FINGERPRINT).unlink(missing_ok=True)


def saved_model_source(request: Request) -> TensorflowSource:
    """The network behind the signature for serving, with all that it gives."""
    loaded = _loaded(request)
    specs = loaded.signatures[SIGNATURE].structured_input_signature[1]
    if len(specs) != 1:
        raise DataError(
            f"{request.source} has {len(specs)} inputs ({', '.join(specs)}); a classifier of "
            "images has one"
        )
    ((name, spec),) = specs.items()

    def network(images: tf.Tensor) -> Mapping[str, tf.Tensor]:
        # By way of the model: a signature alone does not keep its variables alive.
        answers: Mapping[str, tf.Tensor] = loaded.signatures[SIGNATURE](**{name: images})
        return answers

    shape = spec.shape if spec.shape.rank is not None else ()
    return classifier(network, tf.TensorSpec(shape, spec.dtype, name), request)


def _loaded(request: Request) -> Any:  # noqa: ANN401 (TensorFlow has no types here)
    try:
        loaded = tf.saved_model.load(str(request.source))
    except (OSError, ValueError, tf.errors.OpError) as error:
        words = first_line(error)
        raise DataError(f"{request.source} cannot be loaded as a SavedModel: {words}") from error
    if SIGNATURE not in loaded.signatures:
        known = ", ".join(loaded.signatures) or "none at all"
        raise DataError(f"{request.source} has no signature {SIGNATURE!r}; it has {known}")
    return loaded


LITERT_FILE = "network.tflite"


def write_for_litert(network: ConstantFunction, request: Request) -> None:
    """Write the network; its inputs and outputs stay as they are whatever is inside."""
    with tempfile.TemporaryDirectory(dir=request.out) as temporary:
        folder = Path(temporary) / "saved"
        # From a folder: only then does the file have a signature, with the tensors' names.
        write_saved_model(network, folder)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            str(folder), signature_keys=[SIGNATURE]
        )
        _ask_for(converter, request, network.input)
        (request.out / LITERT_FILE).write_bytes(converter.convert())


def _ask_for(converter: Any, request: Request, name: str) -> None:  # noqa: ANN401 (no types here)
    if request.precision == "fp32":
        return
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if request.precision == "fp16":
        converter.target_spec.supported_types = [tf.float16]
    if request.precision == "int8":
        if request.images is None:
            raise TaskError("images: must be given, because int8 is calibrated with them")
        images = np.load(request.images, allow_pickle=False)
        converter.representative_dataset = lambda: (
            (SIGNATURE, {name: images[number : number + 1]}) for number in range(len(images))
        )
