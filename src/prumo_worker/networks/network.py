"""A network as data: layers that name their inputs, with every shape worked out."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from prumo_worker.networks.layer import NetworkError, Operation, Shape, describe

if TYPE_CHECKING:
    from collections.abc import Iterable

IMAGE = "image"
"""The name under which a layer takes the network's own input."""


@dataclass(frozen=True)
class Layer:
    """A named operation as the author of a network writes it down."""

    name: str
    operation: Operation
    inputs: tuple[str, ...] = ()
    """Earlier layers, or IMAGE; none means the layer just before."""


@dataclass(frozen=True)
class Node:
    """A layer in its place: its inputs named and its shapes known."""

    name: str
    operation: Operation
    inputs: tuple[str, ...]
    input_shapes: tuple[Shape, ...]
    output_shape: Shape

    @property
    def weight_shapes(self) -> dict[str, Shape]:
        """The trained arrays of this layer, by name."""
        return self.operation.weight_shapes(*self.input_shapes)


@dataclass(frozen=True)
class Network:
    """Nodes in an order in which they can be computed; the last one gives the class scores."""

    name: str
    input_shape: Shape
    nodes: tuple[Node, ...]

    @property
    def classes(self) -> int:
        """How many scores come out; the loss applies the softmax."""
        return self.nodes[-1].output_shape[0]

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return sum(prod(shape) for node in self.nodes for shape in node.weight_shapes.values())

    @property
    def flops(self) -> int:
        """Floating-point operations of one image, forward.

        Twice the multiply-accumulates of the convolutions and dense layers. Biases, activations
        and pooling are not counted.
        """
        return 2 * sum(
            node.operation.multiply_accumulates(*node.input_shapes) for node in self.nodes
        )


def assemble(name: str, input_shape: Shape, layers: Iterable[Layer]) -> Network:
    """Put layers in their places and work out every shape."""
    if min(input_shape) < 1:
        raise NetworkError(f"{name}: no network takes a {describe(input_shape)} image")
    shapes: dict[str, Shape] = {IMAGE: input_shape}
    nodes: list[Node] = []
    previous = IMAGE
    for layer in layers:
        node = _place(name, layer, layer.inputs or (previous,), shapes)
        shapes[node.name] = node.output_shape
        nodes.append(node)
        previous = node.name
    return Network(name, input_shape, tuple(nodes))


def _place(network: str, layer: Layer, inputs: tuple[str, ...], shapes: dict[str, Shape]) -> Node:
    place = f"{network} on {describe(shapes[IMAGE])}: layer {layer.name}"
    if layer.name in shapes:
        raise NetworkError(f"{place}: the name is taken by an earlier layer")
    for name in inputs:
        if name not in shapes:
            raise NetworkError(f"{place}: no earlier layer is named {name}")
    input_shapes = tuple(shapes[name] for name in inputs)
    try:
        output_shape = layer.operation.output_shape(*input_shapes)
    except NetworkError as error:
        given = ", ".join(map(describe, input_shapes))
        raise NetworkError(f"{place}: gets {given}: {error}") from None
    return Node(layer.name, layer.operation, inputs, input_shapes, output_shape)
