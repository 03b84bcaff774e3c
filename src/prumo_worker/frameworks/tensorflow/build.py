"""Which TensorFlow this is, and what of its build decides about speed."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

# Whether oneDNN is in use depends on the processor too, and only this module knows.
from tensorflow.python.util import _pywrap_util_port


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
