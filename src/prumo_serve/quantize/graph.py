"""A network's graph before its numbers become smaller: folded, and what in it keeps 32 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxruntime.quantization import quant_pre_process

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import onnx

DENSE = ("Gemm", "MatMul")
WEIGHTED = ("Conv", *DENSE)
"""Operations with weights: nearly all of a network's size and time."""


def fold(network: Path, out: Path) -> None:
    """Write the network with its constants and normalizations folded into the weights."""
    # Shapes by symbols are for language models and would need a package more.
    quant_pre_process(network, out, skip_symbolic_shape=True)


def outer_nodes(nodes: Iterable[onnx.NodeProto]) -> list[str]:
    """The names of what comes before the first weights, and from the last dense layer on.

    Pixels are normalized before the first, and scores are added up in the last: both are cheap, and
    an error in them is in every answer.
    """
    everything = list(nodes)
    inner = _reached(everything, [node for node in everything if node.op_type in WEIGHTED])
    before = [node for place, node in enumerate(everything) if place not in inner]
    dense = [node for node in everything if node.op_type in DENSE]
    after = _reached(everything, dense[-1:])
    return [node.name for node in before] + [everything[place].name for place in sorted(after)]


def delicate_convolutions(nodes: Iterable[onnx.NodeProto]) -> list[str]:
    """The names of those that one scale for all channels ruins: the first, and depthwise ones.

    Each of their filters sees few numbers, and filters differ much in size.
    """
    convolutions = [node for node in nodes if node.op_type == "Conv"]
    return [
        node.name
        for place, node in enumerate(convolutions)
        if place == 0 or any(part.name == "group" and part.i > 1 for part in node.attribute)
    ]


def _reached(nodes: list[onnx.NodeProto], starts: list[onnx.NodeProto]) -> set[int]:
    """The places of some nodes and of all that depends on them; a graph is in such an order."""
    names = {name for node in starts for name in node.output}
    places = set()
    for place, node in enumerate(nodes):
        if names.intersection(node.output) or names.intersection(node.input):
            places.add(place)
            names.update(node.output)
    return places
