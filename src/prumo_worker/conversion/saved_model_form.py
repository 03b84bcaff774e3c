"""A function of TensorFlow's as a SavedModel with one signature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from prumo_worker.conversion.tensorflow_source import Taken, concrete

if TYPE_CHECKING:
    from pathlib import Path

    from prumo_worker.conversion.request import Wish
    from prumo_worker.conversion.tensorflow_source import ConstantFunction

SAVED_MODEL_FOLDER = "network"
SIGNATURE = "serving_default"
# Says when and by what it was written, and nothing that an answer depends on.
_FINGERPRINT = "fingerprint.pb"


def write(network: ConstantFunction, wish: Wish) -> dict[str, str]:
    """Write the network; there is nothing but TensorFlow in it."""
    write_saved_model(network, wish.out / SAVED_MODEL_FOLDER)
    return {}


def write_saved_model(network: ConstantFunction, folder: Path) -> None:
    """Write a function whose weights are constants.

    Variables of Keras 3 would lose their values on the way from here to LiteRT, whose converter
    does not say so.
    """
    taken = network.function.inputs[0]

    def answers(images: tf.Tensor) -> dict[str, tf.Tensor]:
        return dict(zip(network.outputs, network.function(images)))

    module = tf.Module()
    module.network = concrete(answers, Taken(network.input, tuple(taken.shape), taken.dtype.name))
    tf.saved_model.save(module, str(folder), signatures={SIGNATURE: module.network})
    (folder / _FINGERPRINT).unlink(missing_ok=True)
