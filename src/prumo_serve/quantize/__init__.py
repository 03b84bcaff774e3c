"""Smaller numbers for a network in ONNX: the methods, and what calibrates them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from prumo.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np

    from prumo_serve.manifest import Precision


_EXTRA_MODULES = ("onnx", "onnxruntime")


def require_extra() -> None:
    """Say how to install what is missing, before any work begins."""
    missing = [name for name in _EXTRA_MODULES if find_spec(name) is None]
    if missing:
        raise UnavailableError(
            f"quantizing needs {', '.join(missing)}: install it with pip install 'prumo[model]'"
        )


_METHODS: dict[Precision, str] = {
    "fp16": "half_precision",
    "int8": "static_int8",
    "int8-dynamic": "dynamic_int8",
}
"""The functions of `prumo_serve.quantize.methods`, which imports what only quantizing needs."""


def quantize_onnx(
    network: Path,
    out: Path,
    precision: Precision,
    input_tensor: str,
    images: Iterable[np.ndarray] | None = None,
) -> None:
    """Write a network of 32-bit numbers with smaller ones.

    Args:
        network: An ONNX file.
        out: The ONNX file to write.
        precision: Of the new network.
        input_tensor: What the images are given to.
        images: Batches to calibrate with, which can be gone through several times, such as
            `CalibrationImages`; what does not need them is the nearer to the original for them.

    Raises:
        InputError: The precision needs calibration images, and there are none.
        UnavailableError: There is no such way for ONNX, or it is not installed.
    """
    if precision not in _METHODS:
        raise UnavailableError(
            f"there is no way to make {precision} of an ONNX network; there are "
            f"{', '.join(_METHODS)}"
        )
    require_extra()
    methods = import_module("prumo_serve.quantize.methods")
    getattr(methods, _METHODS[precision])(network, out, input_tensor, images)


def needs_images(precision: Precision) -> str:
    """What to tell a user who gave none."""
    return (
        f"{precision} learns from images how large the network's numbers get: give --calibration "
        "a folder of about a hundred, such as the model will be asked about and not those that it "
        "is judged on"
    )
