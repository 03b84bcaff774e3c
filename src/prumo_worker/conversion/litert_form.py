"""A function of TensorFlow's for LiteRT, in full precision or quantized on the way."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from prumo_worker.conversion.saved_model_form import SIGNATURE, write_saved_model
from prumo_worker.failure import TaskError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_worker.conversion.request import Wish
    from prumo_worker.conversion.tensorflow_source import ConstantFunction

LITERT_FILE = "network.tflite"


def write(network: ConstantFunction, wish: Wish) -> dict[str, str]:
    """Write the network; its inputs and outputs stay as they are whatever is inside."""
    with tempfile.TemporaryDirectory(dir=wish.out) as temporary:
        folder = Path(temporary) / "saved"
        # From a folder: only then does the file have a signature, with the tensors' names.
        write_saved_model(network, folder)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            str(folder), signature_keys=[SIGNATURE]
        )
        _ask_for(converter, wish, network.input)
        (wish.out / LITERT_FILE).write_bytes(converter.convert())
    return {}


def _ask_for(converter: Any, wish: Wish, name: str) -> None:  # noqa: ANN401 (no types here)
    if wish.precision == "fp32":
        return
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if wish.precision == "fp16":
        converter.target_spec.supported_types = [tf.float16]
    if wish.precision == "int8":
        if wish.images is None:
            raise TaskError("images: must be given, because int8 is calibrated with them")
        images = np.load(wish.images, allow_pickle=False)
        converter.representative_dataset = lambda: _samples(images, name)


def _samples(images: np.ndarray, name: str) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    for number in range(len(images)):
        yield SIGNATURE, {name: images[number : number + 1]}
