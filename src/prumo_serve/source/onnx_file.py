"""An ONNX file: looked through, understood, and written as one file that any batch fits."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from prumo.errors import InputError, UnavailableError
from prumo.files import file_sha256
from prumo_serve.source import Source, Told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

_MAX_BYTES = 2 * 1024**3
"""Protocol buffers hold no more in one message."""
_DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}
_REACHING_OUT = {"EPContext", "PythonOp", "PythonOpGrad"}
"""Operators of ONNX Runtime's own that open another file or call Python."""


def source(path: Path) -> Source:
    """The model of a file."""
    model = checked_model(path)
    return Source(
        path=path,
        format="onnx",
        sha256=file_sha256(path),
        told=Told(name=path.stem),
        versions=format_versions(model),
    )


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
        raise InputError(f"{path} is no valid ONNX file: {_first_line(error)}") from error
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
    yield from _nodes_below(model.graph.node)
    for function in model.functions:
        yield from _nodes_below(function.node)


def _nodes_below(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                yield from _nodes_below(graph.node)


def _tensors(model: ModelProto) -> Iterator[TensorProto]:
    yield from model.graph.initializer
    for node in _nodes(model):
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for graph in [attribute.g, *attribute.graphs]:
                yield from graph.initializer


def asked_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """What is asked for: older files name their weights among the inputs too."""
    weights = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in weights]


def format_versions(model: ModelProto) -> dict[str, str]:
    """Of the operators and of the file, and what wrote it."""
    opsets = {item.domain or "ai.onnx": str(item.version) for item in model.opset_import}
    versions = {"onnx_ir": str(model.ir_version), "onnx_opset": opsets.get("ai.onnx", "")}
    producer = f"{model.producer_name} {model.producer_version}".strip()
    return {**versions, "producer": producer} if producer else versions


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
