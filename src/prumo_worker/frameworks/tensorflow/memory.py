"""A failed allocation in TensorFlow, told as Python tells its own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

# A batch for which a GPU has no room is an internal error about the tensor it was to become.
_TELLING = ("OOM", "Dst tensor is not initialized")


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise a MemoryError with the one line of TensorFlow's report that says what did not fit."""
    try:
        yield
    except (tf.errors.ResourceExhaustedError, tf.errors.InternalError) as error:
        lines = str(error).splitlines()
        telling = [line.strip() for line in lines if any(words in line for words in _TELLING)]
        if not telling and not isinstance(error, tf.errors.ResourceExhaustedError):
            raise
        raise MemoryError((telling or lines)[0]) from error
