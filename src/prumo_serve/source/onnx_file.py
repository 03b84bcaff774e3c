"""ONNX files: looked through before anything opens them, and what they say about their network."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from prumo.errors import InputError, UnavailableError
from prumo_serve.source import NetworkInterface, Source, agreed_side, file_source

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

    from prumo_serve.choices import Layout, Precision


_MAX_BYTES = 2 * 1024**3
"""Protocol buffers hold no more in one message."""
_DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}
_REACHING_OUT = {"EPContext", "PythonOp", "PythonOpGrad"}
"""Operators of ONNX Runtime's own that open another file or call Python."""


def source(path: Path) -> Source:
    """The model of a file."""
    return file_source(path, "onnx", format_versions(checked_model(path)))


def checked_model(path: Path) -> ModelProto:
    """The model of a file, if nothing of it lies or reaches outside of the file's own folder."""
    onnx = onnx_module()
    from google.protobuf.message import DecodeError  # noqa: PLC0415 (comes with onnx)

    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path} is larger than 2 GiB, which no ONNX file can be")
        model = onnx.load(path, load_external_data=False)
    except (DecodeError, ValueError) as error:
        raise InputError(f"{path} is no whole ONNX file: {error}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if not model.graph.node:
        raise InputError(f"{path} is no ONNX file, or one without a network")
    _require_known_operators(model, path)
    _require_near_data(model, path)
    try:
        onnx.load_external_data_for_model(model, str(path.parent))
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, OSError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{path} is no valid ONNX file: {reason}") from error
    return model


def write_one_file(path: Path, out: Path) -> None:
    """Copy a network; one that keeps weights in other files gets them all inside."""
    onnx = onnx_module()
    model = onnx.load(path, load_external_data=False)
    if not any(map(onnx.external_data_helper.uses_external_data, _tensors(model))):
        shutil.copyfile(path, out)
        return
    whole = checked_model(path)
    if whole.ByteSize() > _MAX_BYTES:
        raise InputError(f"{path} has more than 2 GiB of weights, which fit into no single file")
    onnx.save(whole, out)


def onnx_module() -> ModuleType:
    """The package `onnx`, which only reading and writing such files needs."""
    try:
        return import_module("onnx")
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "ONNX files are read with onnx: install it with pip install 'prumo[model]'"
        ) from error


def _require_known_operators(model: ModelProto, path: Path) -> None:
    own = {(function.domain, function.name) for function in model.functions}
    for node in _nodes(model):
        if (node.domain, node.op_type) in own:
            continue
        if node.domain not in _DOMAINS:
            raise InputError(
                f"{path} has the operator {node.op_type} of the domain {node.domain}, which needs "
                "code that a package does not hold; export the model with ONNX's own operators"
            )
        if node.op_type in _REACHING_OUT:
            raise InputError(f"{path} has the operator {node.op_type}, which runs other code")


def _require_near_data(model: ModelProto, path: Path) -> None:
    """Refuse weights in other files that do not lie beside or below this one."""
    onnx = onnx_module()
    for tensor in _tensors(model):
        if not onnx.external_data_helper.uses_external_data(tensor):
            continue
        location = next((part.value for part in tensor.external_data if part.key == "location"), "")
        name = PurePosixPath(location)
        if not location or name.is_absolute() or ".." in name.parts or "\\" in location:
            raise InputError(
                f"{path} keeps {tensor.name} in {location or 'a file without a name'}, outside of "
                "its own folder; save the model as one file"
            )
        file = path.parent / name
        if file.is_symlink() or not file.resolve().is_relative_to(path.parent.resolve()):
            raise InputError(f"{path} keeps {tensor.name} behind the link {location}")
        if not file.is_file():
            raise InputError(f"{path} keeps {tensor.name} in {location}, which is not there")


def _nodes(model: ModelProto) -> Iterator[NodeProto]:
    yield from nodes_below(model.graph.node)
    for function in model.functions:
        yield from nodes_below(function.node)


def nodes_below(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """The nodes and those of the graphs inside of them."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                yield from nodes_below(graph.node)


def _tensors(model: ModelProto) -> Iterator[TensorProto]:
    yield from model.graph.initializer
    for node in _nodes(model):
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for graph in [attribute.g, *attribute.graphs]:
                yield from graph.initializer


def format_versions(model: ModelProto) -> dict[str, str]:
    """Of the operators and of the file, and what wrote it."""
    opsets = {item.domain or "ai.onnx": str(item.version) for item in model.opset_import}
    versions = {"onnx_ir": str(model.ir_version), "onnx_opset": opsets.get("ai.onnx", "")}
    producer = f"{model.producer_name} {model.producer_version}".strip()
    return {**versions, "producer": producer} if producer else versions


_PASSING = {
    *("Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Transpose"),
    *("QuantizeLinear", "DequantizeLinear"),
}
_ACTIVATIONS: dict[str, Literal["softmax", "sigmoid"]] = {
    "Softmax": "softmax",
    "Sigmoid": "sigmoid",
}
_DTYPES: dict[str, Literal["float32", "uint8"]] = {"FLOAT": "float32", "UINT8": "uint8"}
_DYNAMIC_OPERATORS = {"DynamicQuantizeLinear", "MatMulInteger", "ConvInteger"}
_STATIC_OPERATORS = {"QuantizeLinear", "QLinearConv", "QLinearMatMul"}
_COLOURS = 3
_IMAGE_RANK = 4
_SCORES_RANK = 2


def interface(
    model: ModelProto, path: Path, layout: Layout | None = None, size_pixels: int | None = None
) -> NetworkInterface:
    """What a network takes and gives; `layout` and size where its shapes alone do not tell."""
    taken = _image_input(model, path)
    shape = _shape(taken)
    found = layout or _layout(shape, path)
    given = _scores_output(model, path)
    rows, columns = shape[1:3] if found == "NHWC" else shape[2:4]
    activation = _last_activation(model.graph, given.name)
    return NetworkInterface(
        input_tensor=taken.name,
        height=agreed_side(rows, size_pixels, path),
        width=agreed_side(columns, size_pixels, path),
        layout=found,
        dtype=_dtype(taken, path),
        output_tensor=given.name,
        kind="probabilities" if activation else "scores",
        activation=activation or ("sigmoid" if _shape(given)[1] == 1 else "softmax"),
    )


def _image_input(model: ModelProto, path: Path) -> ValueInfoProto:
    # Older files name their weights among the inputs too.
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    if len(inputs) != 1 or len(_shape(inputs[0])) != _IMAGE_RANK:
        text = ", ".join(f"{value.name} {_shape_text(value)}" for value in inputs) or "nothing"
        raise InputError(f"{path} takes {text}; a network for images takes one batch of them")
    return inputs[0]


def _scores_output(model: ModelProto, path: Path) -> ValueInfoProto:
    outputs = [value for value in model.graph.output if len(_shape(value)) == _SCORES_RANK]
    if len(outputs) != 1:
        text = ", ".join(f"{value.name} {_shape_text(value)}" for value in model.graph.output)
        raise InputError(
            f"{path} gives {text}; a network that classifies gives one row of scores or "
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
    name = onnx_module().TensorProto.DataType.Name(value.type.tensor_type.elem_type)
    if name not in _DTYPES:
        raise InputError(f"{path} takes images as {name}; float32 or uint8 are understood")
    return _DTYPES[name]


def _shape(value: ValueInfoProto) -> list[int | None]:
    dimensions = value.type.tensor_type.shape.dim
    return [dimension.dim_value or None for dimension in dimensions]


def _shape_text(value: ValueInfoProto) -> str:
    return f"({', '.join('any' if side is None else str(side) for side in _shape(value))})"


def _last_activation(graph: GraphProto, tensor: str) -> Literal["softmax", "sigmoid"] | None:
    made_by = {name: node for node in graph.node for name in node.output}
    while tensor in made_by:
        node = made_by[tensor]
        if node.op_type in _ACTIVATIONS:
            return _ACTIVATIONS[node.op_type]
        if node.op_type not in _PASSING:
            return None
        tensor = node.input[0]
    return None


def precision_of(model: ModelProto) -> Precision:
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
