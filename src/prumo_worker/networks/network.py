"""A network as data: layers that name their inputs, with every shape worked out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from prumo_worker.networks.operation import (
    NetworkError,
    Operation,
    Shape,
    describe,
    hint,
    not_negative,
)

IMAGE = "image"
"""The name under which a layer takes the network's own input."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Layer:
    """A named operation as the author of a network writes it down."""

    name: str
    operation: Operation
    inputs: tuple[str, ...] = ()
    """Earlier layers, or IMAGE; none means the layer just before."""
    auxiliary: float = 0.0
    """For a further head of class scores: the weight of its loss in the sum."""


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

    @property
    def state_shapes(self) -> dict[str, Shape]:
        """The arrays of this layer that are carried along without gradients, by name."""
        return self.operation.state_shapes(*self.input_shapes)

    @property
    def trained_parameters(self) -> int:
        """How many numbers of this layer have gradients."""
        return sum(map(prod, self.weight_shapes.values()))

    @property
    def parameters(self) -> int:
        """How many numbers the arrays of this layer hold."""
        return self.trained_parameters + sum(map(prod, self.state_shapes.values()))

    @property
    def flops(self) -> int:
        """Floating-point operations of one image, forward: two for each multiply-accumulate."""
        return 2 * self.operation.multiply_accumulates(*self.input_shapes)


@dataclass(frozen=True)
class Network:
    """Nodes in an order in which they can be computed; the last one gives the class scores."""

    name: str
    input_shape: Shape
    nodes: tuple[Node, ...]
    auxiliary: dict[str, float]
    """Further heads of class scores, and the weights of their losses in the sum."""

    @property
    def heads(self) -> dict[str, float]:
        """What gives class scores, the main layer first, and the weights of their losses."""
        return {self.nodes[-1].name: 1.0, **self.auxiliary}

    @property
    def classes(self) -> int:
        """How many scores come out; the loss applies the softmax."""
        return self.nodes[-1].output_shape[0]

    @property
    def parameters(self) -> int:
        """How many numbers the arrays hold, the untrained state included."""
        return sum(node.parameters for node in self.nodes)

    @property
    def trained_parameters(self) -> int:
        """How many numbers have gradients."""
        return sum(node.trained_parameters for node in self.nodes)

    @property
    def flops(self) -> int:
        """Floating-point operations of one image, forward.

        Twice the multiply-accumulates of the convolutions and dense layers. Biases, activations,
        normalisations and poolings are not counted.
        """
        return sum(node.flops for node in self.nodes)


def assemble(name: str, input_shape: Shape, layers: Iterable[Layer]) -> Network:
    """Put layers in their places and work out every shape."""
    if min(input_shape) < 1:
        raise NetworkError(f"{name}: no network takes a {describe(input_shape)} image")
    written = tuple(layers)
    if not written:
        raise NetworkError(f"{name}: has no layers")
    nodes: list[Node] = []
    shapes: dict[str, Shape] = {IMAGE: input_shape}
    for position, layer in enumerate(written):
        try:
            node = _place(layer, nodes[-1].name if nodes else IMAGE, shapes, written)
        except NetworkError as error:
            place = f"{name} on {describe(input_shape)}: layer {layer.name}"
            raise NetworkError(f"{place}: {error}", position) from None
        nodes.append(node)
        shapes[node.name] = node.output_shape
    heads = {layer.name: layer.auxiliary for layer in written if layer.auxiliary}
    network = Network(name, input_shape, tuple(nodes), heads)
    _check_outputs(network)
    return network


def _place(
    layer: Layer, previous: str, shapes: dict[str, Shape], written: tuple[Layer, ...]
) -> Node:
    if not _NAME.fullmatch(layer.name):
        raise NetworkError("a name has letters, digits and _, beginning with a letter or digit")
    if layer.name in shapes:
        owner = "the network's input" if layer.name == IMAGE else "an earlier layer"
        raise NetworkError(f"the name is taken by {owner}")
    not_negative(auxiliary=layer.auxiliary)
    inputs = layer.inputs or (previous,)
    for name in inputs:
        if name not in shapes:
            raise NetworkError(_missing(name, shapes, written))
    input_shapes = tuple(shapes[name] for name in inputs)
    try:
        output_shape = layer.operation.output_shape(*input_shapes)
    except NetworkError as error:
        raise NetworkError(f"gets {', '.join(map(describe, input_shapes))}: {error}") from None
    return Node(layer.name, layer.operation, inputs, input_shapes, output_shape)


def _missing(name: str, shapes: dict[str, Shape], written: tuple[Layer, ...]) -> str:
    if any(layer.name == name for layer in written):
        return f"its input {name} does not come before it; layers go forward only, without cycles"
    return f"no earlier layer is named {name}; {hint(name, shapes)}"


def _check_outputs(network: Network) -> None:
    """Every layer leads to scores: frameworks differ in what they do with one that does not."""
    scores = network.nodes[-1]
    if scores.name in network.auxiliary:
        raise NetworkError(
            f"{network.name}: layer {scores.name}: the last layer gives the scores and is no "
            "further head: leave out its `auxiliary`",
            len(network.nodes) - 1,
        )
    used = set(network.heads).union(*(node.inputs for node in network.nodes))
    for position, node in enumerate(network.nodes):
        place = f"{network.name}: layer {node.name}"
        if node.name not in used:
            raise NetworkError(f"{place}: nothing takes its output", position)
        if node.name in network.auxiliary and node.output_shape != scores.output_shape:
            raise NetworkError(
                f"{place}: a head gives {describe(scores.output_shape)} scores as "
                f"{scores.name} does, not {describe(node.output_shape)}",
                position,
            )
