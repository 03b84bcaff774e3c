"""Which TensorFlow this is, and what of its build decides about speed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf
from tensorflow.python.util import _pywrap_util_port

if TYPE_CHECKING:
    from collections.abc import Iterator


# Whether oneDNN is in use depends on the processor too, and only this module knows.


def versions() -> dict[str, str]:
    """TensorFlow's version, and those of the libraries it computes with."""
    found = {"tensorflow": str(tf.__version__), "numpy": str(np.__version__)}
    build = tf.sysconfig.get_build_info()
    for library in ("cuda", "cudnn"):
        if f"{library}_version" in build:
            found[library] = str(build[f"{library}_version"])
    return found


def build_facts() -> dict[str, str]:
    """Compiler, math library and the flags that TensorFlow was compiled with."""
    flags = [flag for flag in tf.sysconfig.get_compile_flags() if not flag.startswith("-I")]
    return {
        "compiler": str(tf.version.COMPILER_VERSION).partition(" (")[0],
        "flags": " ".join(flags),
        "source": str(tf.version.GIT_VERSION),
        "onednn": "on" if _pywrap_util_port.IsMklEnabled() else "off",
        "xla": "off",
        "tensor_float_32": (
            "on" if tf.config.experimental.tensor_float_32_execution_enabled() else "off"
        ),
    }


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
