"""Weights from an ONNX file, in the order in which its graph uses them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.errors import DataError
from prumo_worker.retina.backbones.names import EVEN_PADDING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MODULE_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*\.(weight|bias|running_mean|running_var)")
_NORMALIZATION = ("scale", "shift", "mean", "variance")


def arrays_of_onnx(content: bytes) -> dict[str, np.ndarray]:
    """Under the names of PyTorch's modules where the file kept them.

    Else convolutions are numbered in order of use: `conv_0.weight`, `conv_0.bias`, and of a
    normalization that follows `conv_0.scale`, `.shift`, `.mean` and `.variance`.
    """
    import onnx  # noqa: PLC0415 (belongs to an extra, and other kinds of files do without it)
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        return _arrays(onnx.load_model_from_string(content).graph)
    # What the format demands and a damaged or forged graph lacks ends in one of the others.
    except (DecodeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"is no whole ONNX file: {error}") from error


def _arrays(graph: Any) -> dict[str, np.ndarray]:  # noqa: ANN401 (a protocol buffer)
    initializers = {tensor.name: _array(tensor) for tensor in graph.initializer}
    used = [name for node in graph.node for name in node.input if name in initializers]
    if _kept_names(graph.node, initializers):
        return {name: initializers[name] for name in used if _MODULE_NAME.fullmatch(name)}
    return dict(_numbered(graph.node, initializers))


def _array(tensor: Any) -> np.ndarray:  # noqa: ANN401 (a protocol buffer)
    from onnx import TensorProto, numpy_helper  # noqa: PLC0415

    if tensor.data_location == TensorProto.EXTERNAL:
        raise DataError("keeps its weights in another file; save the model as one file")
    array: np.ndarray = numpy_helper.to_array(tensor)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _kept_names(nodes: Sequence[Any], initializers: Mapping[str, np.ndarray]) -> bool:
    """Whether all convolutions have their modules' names still: exporters often rename them."""
    kernels = [node.input[1] for node in nodes if node.op_type == "Conv"]
    return all(_MODULE_NAME.fullmatch(name) for name in kernels if name in initializers)


def _numbered(
    nodes: Sequence[Any], initializers: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    made_by: dict[str, str] = {}
    is_even = False
    for node in nodes:
        arrays = [initializers[name] for name in node.input if name in initializers]
        if node.op_type == "Conv" and node.input[1] in initializers:
            name = made_by[node.output[0]] = f"conv_{len(made_by)}"
            is_even |= _is_evenly_padded(node)
            yield from zip((f"{name}.weight", f"{name}.bias"), arrays, strict=False)
        elif node.op_type == "BatchNormalization" and node.input[0] in made_by:
            parts = [f"{made_by[node.input[0]]}.{part}" for part in _NORMALIZATION]
            yield from zip(parts, arrays, strict=True)
        elif node.op_type in {"Gemm", "MatMul"} and arrays:
            yield f"{node.output[0]}.weight", arrays[0]
    if is_even:
        yield EVEN_PADDING, np.ones(())


def _is_evenly_padded(node: Any) -> bool:  # noqa: ANN401 (a protocol buffer)
    """PyTorch's convolutions are, when they stride; TensorFlow's are padded on the far side."""
    settings = {attribute.name: attribute for attribute in node.attribute}
    if "strides" not in settings or "pads" not in settings:
        return False
    pads = list(settings["pads"].ints)
    half = len(pads) // 2
    return max(settings["strides"].ints) > 1 and pads[:half] == pads[half:] and max(pads) > 0
