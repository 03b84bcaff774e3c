"""A network in a folder that TensorFlow saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from prumo_worker.conversion.saved_model_form import SIGNATURE
from prumo_worker.conversion.tensorflow_source import Taken, TensorflowSource, classifier
from prumo_worker.failure import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo_worker.conversion.request import Wish


def saved_model_source(wish: Wish) -> TensorflowSource:
    """The network behind the signature for serving, with all that it gives."""
    loaded = _loaded(wish)
    specs = loaded.signatures[SIGNATURE].structured_input_signature[1]
    if len(specs) != 1:
        raise DataError(
            f"{wish.source} has {len(specs)} inputs ({', '.join(specs)}); a classifier of images "
            "has one"
        )
    ((name, spec),) = specs.items()

    def network(images: tf.Tensor) -> Mapping[str, tf.Tensor]:
        # By way of the model: a signature alone does not keep its variables alive.
        answers: Mapping[str, tf.Tensor] = loaded.signatures[SIGNATURE](**{name: images})
        return answers

    shape = tuple(spec.shape) if spec.shape.rank is not None else ()
    return classifier(network, Taken(name, shape, spec.dtype.name), wish)


def _loaded(wish: Wish) -> Any:  # noqa: ANN401 (TensorFlow has no types here)
    try:
        loaded = tf.saved_model.load(str(wish.source))
    except (OSError, ValueError, tf.errors.OpError) as error:
        words = str(error).strip().partition("\n")[0]
        raise DataError(f"{wish.source} cannot be loaded as a SavedModel: {words}") from error
    if SIGNATURE not in loaded.signatures:
        known = ", ".join(loaded.signatures) or "none at all"
        raise DataError(f"{wish.source} has no signature {SIGNATURE!r}; it has {known}")
    return loaded
