"""Dynamic int8: weights of 8 bits; the ranges of all other numbers are found at every answer."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic

from prumo_serve.quantize.bias_correction import correct_biases
from prumo_serve.quantize.graph import WEIGHTED, delicate_convolutions, fold, outer_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np


def quantize(
    network: Path, out: Path, input_tensor: str, images: Iterable[np.ndarray] | None
) -> None:
    """A third of the size without any image; convolutions take longer than in 32 bits.

    With images, a wrong mean of the scores is put right.
    """
    with tempfile.TemporaryDirectory(prefix="prumo-quantize-") as scratch:
        folded = Path(scratch) / "folded.onnx"
        fold(network, folded)
        graph = onnx.load(folded, load_external_data=False).graph
        quantize_dynamic(
            folded,
            out,
            op_types_to_quantize=list(WEIGHTED),
            # Without images there is one scale for all channels of a convolution.
            nodes_to_exclude=[*outer_nodes(graph.node), *delicate_convolutions(graph.node)],
            # Unsigned, because ONNX Runtime's kernels overflow with signed weights, as in int8.
            weight_type=QuantType.QUInt8,
        )
        if images is not None:
            correct_biases(folded, out, input_tensor, images)
