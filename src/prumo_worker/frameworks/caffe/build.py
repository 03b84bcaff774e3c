"""Which Caffe this is, and the mathematics library that decides about its speed."""

from __future__ import annotations

import ctypes

import caffe
import numpy as np


def versions() -> dict[str, str]:
    """Caffe's version and that of its numpy."""
    return {"caffe": str(caffe.__version__), "numpy": str(np.__version__)}


def build_facts() -> dict[str, str]:
    """The OpenBLAS that Caffe computes with, and the processor that it takes this one for."""
    return {
        "blas": _openblas_text("openblas_get_config"),
        "cpu": _openblas_text("openblas_get_corename"),
    }


def set_threads(threads: int) -> int:
    """Give OpenBLAS threads, and ask it how many it has; Caffe itself has one."""
    library = _openblas()
    library.openblas_set_num_threads(threads)
    return int(library.openblas_get_num_threads())


def _openblas() -> ctypes.CDLL:
    # Loaded long since, by numpy and by Caffe.
    return ctypes.CDLL("libopenblas.so.0")


def _openblas_text(function: str) -> str:
    ask = getattr(_openblas(), function)
    ask.restype = ctypes.c_char_p
    answer: bytes = ask()
    return answer.decode()
