"""ONNX that is always the same for the same network: names and order by use alone.

Converters number what they make in an order that differs from run to run, keep any one of two
weights that are the same, and note in which lines of which source files a layer was written.
Nothing but names, copies and notes change here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.model.source.onnx_file import onnx_module

if TYPE_CHECKING:
    from pathlib import Path

    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto


def make_canonical(path: Path) -> None:
    """Rewrite an ONNX file whose weights lie inside of it."""
    onnx = onnx_module()
    model = onnx.load(path)
    rename_by_use(model)
    onnx.save(model, path)


def rename_by_use(model: ModelProto) -> None:
    """Name weights and what lies between operators after the first operator that uses them."""
    graph = model.graph
    names = {value.name: value.name for value in [*graph.input, *graph.output]}
    weights = _Weights(graph)
    for number, node in enumerate(graph.node):
        node.name = f"{node.op_type}_{number}"
        for name in _used(node):
            if name in weights.same and name not in names:
                names[name] = weights.named(name)
        for place, name in enumerate(node.output):
            names.setdefault(name, f"{node.name}_{place}" if name else "")
        _rename(node, names)
    del graph.initializer[:]
    graph.initializer.extend(weights.kept)
    # Shapes in between can be inferred, and have the old names.
    del graph.value_info[:]
    for value in [*graph.input, *graph.output]:
        _name_free_axes(value)
        _forget_notes(value)
    graph.name = "network"
    _forget_notes(graph)
    _forget_notes(model)


class _Weights:
    """The weights of a graph, each content once, in the order in which they are asked for."""

    def __init__(self, graph: GraphProto) -> None:
        self.same = {tensor.name: tensor for tensor in graph.initializer}
        self.kept: list[TensorProto] = []
        self._names: dict[bytes, str] = {}

    def named(self, name: str) -> str:
        """The new name of the weights that had this one."""
        tensor = type(self.same[name])()
        tensor.CopyFrom(self.same[name])
        tensor.name = ""
        _forget_notes(tensor)
        content = tensor.SerializeToString(deterministic=True)
        if content not in self._names:
            tensor.name = self._names[content] = f"weights_{len(self.kept)}"
            self.kept.append(tensor)
        return self._names[content]


def _forget_notes(
    part: GraphProto | ModelProto | NodeProto | TensorProto | ValueInfoProto,
) -> None:
    part.ClearField("doc_string")
    part.ClearField("metadata_props")


def _name_free_axes(value: ValueInfoProto) -> None:
    for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
        if not dimension.HasField("dim_value"):
            dimension.dim_param = f"{value.name}_{axis}" if axis else "batch"


def _used(node: NodeProto) -> list[str]:
    """What a node takes, also through the graphs inside of it."""
    used = list(node.input)
    for attribute in node.attribute:
        for graph in [attribute.g, *attribute.graphs]:
            used += [name for inner in graph.node for name in _used(inner)]
    return used


def _rename(node: NodeProto, names: dict[str, str]) -> None:
    """Give all names of a node anew, also in the graphs inside of it, and drop their notes."""
    _forget_notes(node)
    node.input[:] = [names.get(name, name) for name in node.input]
    node.output[:] = [names.get(name, name) for name in node.output]
    for attribute in node.attribute:
        for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
            _forget_notes(graph)
            for part in [*graph.input, *graph.output, *graph.value_info, *graph.initializer]:
                _forget_notes(part)
            for inner in graph.node:
                _rename(inner, names)
