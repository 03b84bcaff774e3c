"""What an ONNX network takes and gives, as far as its file tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from prumo.errors import InputError
from prumo_serve.source.onnx_file import asked_inputs, format_versions, onnx_module

if TYPE_CHECKING:
    from pathlib import Path

    from onnx import GraphProto, ModelProto, ValueInfoProto

    from prumo_serve.manifest import Layout, Precision

_PASSING = {
    *("Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Transpose"),
    *("QuantizeLinear", "DequantizeLinear"),
}
_DYNAMIC_OPERATORS = {"DynamicQuantizeLinear", "MatMulInteger", "ConvInteger"}
_STATIC_OPERATORS = {"QuantizeLinear", "QLinearConv", "QLinearMatMul"}
_COLOURS = 3
_IMAGE_RANK = 4
_SCORES_RANK = 2


@dataclass(frozen=True)
class OnnxFacts:
    """What the file says about its network."""

    input_tensor: str
    layout: Layout
    height: int | None
    """None where any will do, as with the width."""
    width: int | None
    dtype: Literal["float32", "uint8"]
    output_tensor: str
    outputs: int | None
    """How many numbers each image gets; None where only asking would tell."""
    kind: Literal["scores", "probabilities"]
    activation: Literal["softmax", "sigmoid"]
    precision: Precision
    versions: dict[str, str]
    """Of the format's operators and of the file, and of what wrote it."""


def facts(model: ModelProto, path: Path, layout: Layout | None = None) -> OnnxFacts:
    """What a network takes and gives; `layout` where the shapes alone do not tell."""
    taken = _image_input(model, path)
    shape = _shape(taken)
    found = layout or _layout(shape, path)
    given = _scores_output(model, path)
    rows, columns = shape[1:3] if found == "NHWC" else shape[2:4]
    outputs = _shape(given)[1]
    activation = _last_activation(model.graph, given.name)
    return OnnxFacts(
        input_tensor=taken.name,
        layout=found,
        height=rows,
        width=columns,
        dtype=_dtype(taken, path),
        output_tensor=given.name,
        outputs=outputs,
        kind="probabilities" if activation else "scores",
        activation=activation or ("sigmoid" if outputs == 1 else "softmax"),
        precision=_precision(model),
        versions=format_versions(model),
    )


def _image_input(model: ModelProto, path: Path) -> ValueInfoProto:
    inputs = asked_inputs(model.graph)
    if len(inputs) != 1 or len(_shape(inputs[0])) != _IMAGE_RANK:
        told = ", ".join(f"{value.name} {_told_shape(value)}" for value in inputs) or "nothing"
        raise InputError(f"{path} takes {told}; a network for images takes one batch of them")
    return inputs[0]


def _scores_output(model: ModelProto, path: Path) -> ValueInfoProto:
    outputs = [value for value in model.graph.output if len(_shape(value)) == _SCORES_RANK]
    if len(outputs) != 1:
        told = ", ".join(f"{value.name} {_told_shape(value)}" for value in model.graph.output)
        raise InputError(
            f"{path} gives {told}; a network that classifies gives one row of scores or "
            "probabilities for each image"
        )
    return outputs[0]


def _layout(shape: list[int | None], path: Path) -> Layout:
    first, last = shape[1] == _COLOURS, shape[3] == _COLOURS
    if first == last:
        raise InputError(
            f"{path} does not tell where its images have their colours: give --layout NHWC or NCHW"
        )
    return "NCHW" if first else "NHWC"


def _dtype(value: ValueInfoProto, path: Path) -> Literal["float32", "uint8"]:
    onnx = onnx_module()
    kind = value.type.tensor_type.elem_type
    if kind == onnx.TensorProto.FLOAT:
        return "float32"
    if kind == onnx.TensorProto.UINT8:
        return "uint8"
    name = onnx.TensorProto.DataType.Name(kind)
    raise InputError(f"{path} takes images as {name}; float32 or uint8 are understood")


def _shape(value: ValueInfoProto) -> list[int | None]:
    dimensions = value.type.tensor_type.shape.dim
    return [dimension.dim_value or None for dimension in dimensions]


def _told_shape(value: ValueInfoProto) -> str:
    return f"({', '.join('any' if side is None else str(side) for side in _shape(value))})"


def _last_activation(graph: GraphProto, tensor: str) -> Literal["softmax", "sigmoid"] | None:
    made_by = {name: node for node in graph.node for name in node.output}
    while tensor in made_by:
        node = made_by[tensor]
        if node.op_type == "Softmax":
            return "softmax"
        if node.op_type == "Sigmoid":
            return "sigmoid"
        if node.op_type not in _PASSING:
            return None
        tensor = node.input[0]
    return None


def _precision(model: ModelProto) -> Precision:
    """Of the numbers that most of it computes with."""
    operators = {node.op_type for node in model.graph.node}
    if operators & _DYNAMIC_OPERATORS:
        return "int8-dynamic"
    if operators & _STATIC_OPERATORS:
        return "int8"
    types = {tensor.data_type for tensor in model.graph.initializer}
    proto = onnx_module().TensorProto
    if proto.FLOAT16 in types:
        return "fp16"
    return "bf16" if proto.BFLOAT16 in types else "fp32"
