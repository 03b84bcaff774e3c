"""Half precision: 16 bits for every number, 32 at the network's inputs and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnxruntime.quantization.onnx_model import ONNXModel
from onnxruntime.transformers.float16 import convert_float_to_float16

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np


def quantize(
    network: Path, out: Path, input_tensor: str, images: Iterable[np.ndarray] | None
) -> None:
    """Half the size; a processor without such arithmetic turns every number back first."""
    del input_tensor, images
    model = ONNXModel(convert_float_to_float16(onnx.load(network), keep_io_types=True))
    # The conversions at the inputs were put at the end, where no other runtime looks for them.
    model.topological_sort()
    onnx.save(model.model, out)
