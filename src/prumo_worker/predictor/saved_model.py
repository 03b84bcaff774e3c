"""A SavedModel in TensorFlow, asked by its signature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from prumo_worker.failure import DataError
from prumo_worker.predictor.network import Network

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

_USUAL = "serving_default"


def load(path: Path, threads: int) -> Network:
    """Load the signature for serving, or the only one that there is."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    loaded = tf.saved_model.load(str(path))
    names = list(loaded.signatures)
    if _USUAL not in names and len(names) != 1:
        raise DataError(f"{path} has {len(names)} signatures and none is {_USUAL}")
    name = _USUAL if _USUAL in names else names[0]
    function = loaded.signatures[name]
    taken = function.structured_input_signature[1]
    first, spec = next(iter(taken.items()))

    def compute(batch: np.ndarray) -> dict[str, np.ndarray]:
        # Asked by way of the model: a function alone would not keep its variables alive.
        values = loaded.signatures[name](**{first: tf.constant(batch, spec.dtype)})
        return {output: value.numpy() for output, value in values.items()}

    return Network(list(taken), sorted(function.structured_outputs), spec.shape[0], compute)
