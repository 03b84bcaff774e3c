"""Which MXNet this is, and what of its build decides about speed."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import mxnet as mx
import numpy as np


def versions() -> dict[str, str]:
    """MXNet's version and that of its numpy."""
    return {"mxnet": str(mx.__version__), "numpy": str(np.__version__)}


def build_facts() -> dict[str, str]:
    """The features that MXNet was compiled with (MKLDNN is oneDNN), its compiler and OpenBLAS."""
    features = [feature.name for feature in mx.runtime.feature_list() if feature.enabled]
    facts = {"features": ", ".join(features), **_compiler()}
    # Linked into some builds only.
    describe = getattr(mx.base._LIB, "openblas_get_config", None)  # noqa: SLF001 (no other way)
    if describe is not None:
        describe.restype = ctypes.c_char_p
        facts["blas"] = describe().decode()
    return facts


def _compiler() -> dict[str, str]:
    """What GCC wrote about itself near the end of MXNet's library, where it is not stripped."""
    with Path(mx.libinfo.find_lib_path()[0]).open("rb") as stream:
        library = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        begin = library.rfind(b"GCC: (")
        if begin < 0:
            return {}
        return {"compiler": library[begin : library.find(b"\0", begin)].decode()}
