"""A network in MXNet: a graph of operations, each as a Gluon block, and the loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import mxnet as mx
from mxnet.gluon import HybridBlock, Parameter, nn
from mxnet.gluon.loss import SoftmaxCrossEntropyLoss

from prumo_worker.networks import Network, layer
from prumo_worker.networks.layer import Pooling, rounded_up
from prumo_worker.networks.network import IMAGE, Node
from prumo_worker.networks.operation import Operation, pair
from prumo_worker.task import Unavailable

if TYPE_CHECKING:
    import numpy as np


_NORMALIZATION_PARTS = {
    "weight": "gamma",
    "bias": "beta",
    "mean": "running_mean",
    "variance": "running_var",
}


class Graph(HybridBlock):
    """The blocks of a network, computed in order."""

    def __init__(self, network: Network, *, dropout: bool) -> None:
        super().__init__(prefix="")
        self._nodes = network.nodes
        self._outputs = tuple(network.heads)
        self._blocks = [block(node, dropout=dropout) for node in network.nodes]
        for node, part in zip(network.nodes, self._blocks):
            self.register_child(part, node.name)

    @property
    def parameters(self) -> int:
        """Numbers in all weights and state that the network knows of."""
        return sum(parameter.data().size for _, parameter in self._named_parameters())

    # Gluon names `F`, and hands in arrays or symbols.
    def hybrid_forward(self, F: Any, images: Any) -> list[Any]:  # noqa: ANN401, N803, ARG002 (above)
        """The class scores, then those of the auxiliary heads."""
        values = {IMAGE: images}
        for node, part in zip(self._nodes, self._blocks):
            values[node.name] = part(*[values[source] for source in node.inputs])
        return [values[name] for name in self._outputs]

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy weights and state in, under the names of `initial_weights`."""
        for name, parameter in self._named_parameters():
            parameter.set_data(mx.nd.array(weights[name]))

    def _named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        for node, part in zip(self._nodes, self._blocks):
            for name in (*node.weight_shapes, *node.state_shapes):
                is_norm = isinstance(node.operation, layer.BatchNormalization)
                known = _NORMALIZATION_PARTS[name] if is_norm else name
                yield f"{node.name}.{name}", getattr(part, known)


class Loss(HybridBlock):
    """A graph and its loss, compiled together."""

    def __init__(self, graph: Graph, network: Network) -> None:
        super().__init__(prefix="")
        self.graph = graph
        self.cross_entropy = SoftmaxCrossEntropyLoss()
        _, *self._head_weights = network.heads.values()

    # As in Graph.
    def hybrid_forward(self, F: Any, images: Any, labels: Any) -> tuple[Any, Any]:  # noqa: ANN401, N803 (above)
        """The mean loss with its auxiliary parts, and the predicted classes."""
        scores, *heads = self.graph(images)
        loss = self.cross_entropy(scores, labels)
        for weight, head in zip(self._head_weights, heads):
            loss = loss + weight * self.cross_entropy(head, labels)
        return F.mean(loss), F.argmax(scores, axis=1)


def block(node: Node, *, dropout: bool) -> HybridBlock:
    """The block of a node, its parameters known in shape and without values."""
    if isinstance(node.operation, layer.Dropout) and not dropout:
        return _operator("identity")
    return _BLOCKS[type(node.operation)](node.operation, node)


def _operator(name: str, **settings: Any) -> HybridBlock:  # noqa: ANN401 (as many as MXNet has)
    """A block around an operator without parameters; `space` has it for arrays or for symbols."""
    return nn.HybridLambda(lambda space, *values: getattr(space, name)(*values, **settings))


def _convolution(operation: layer.Convolution, node: Node) -> HybridBlock:
    return nn.Conv2D(
        operation.outputs,
        pair(operation.kernel),
        strides=(operation.stride, operation.stride),
        padding=pair(operation.padding),
        groups=operation.groups,
        use_bias=operation.bias,
        **_inputs(node, "in_channels"),
    )


def _inputs(node: Node, size: str) -> dict[str, Any]:
    """Of a block with weights: the size of its input, and its name."""
    return {size: node.input_shapes[0][0], "prefix": f"{node.name}_"}


def _pooling(operation: Pooling, node: Node, *, pool_type: str) -> HybridBlock:
    if operation.ceil and node.output_shape[1:] != rounded_up(operation, node.input_shapes[0]):
        raise Unavailable(
            f"mxnet cannot express layer {node.name}: it keeps a last window that begins behind "
            "the image"
        )
    return _operator(
        "Pooling",
        pool_type=pool_type,
        kernel=(operation.kernel, operation.kernel),
        stride=(operation.stride, operation.stride),
        pad=(operation.padding, operation.padding),
        pooling_convention="full" if operation.ceil else "valid",
        count_include_pad=False,
    )


def _global_average(*_: object) -> HybridBlock:
    both = nn.HybridSequential()
    both.add(nn.GlobalAvgPool2D(), nn.Flatten())
    return both


_BLOCKS: dict[type[Operation], Callable[[Any, Node], HybridBlock]] = {
    layer.Convolution: _convolution,
    layer.Padding: lambda it, _: _operator(
        "pad", mode="constant", pad_width=(0, 0, 0, 0, it.top, it.bottom, it.left, it.right)
    ),
    layer.MaxPooling: partial(_pooling, pool_type="max"),
    layer.AveragePooling: partial(_pooling, pool_type="avg"),
    layer.GlobalAveragePooling: _global_average,
    layer.Flatten: lambda *_: nn.Flatten(),
    layer.Dense: lambda it, node: nn.Dense(
        it.outputs, use_bias=it.bias, flatten=False, **_inputs(node, "in_units")
    ),
    layer.Rectifier: lambda *_: nn.Activation("relu"),
    layer.ClippedRectifier: lambda it, _: _operator("clip", a_min=0, a_max=it.limit),
    layer.Tanh: lambda *_: nn.Activation("tanh"),
    layer.Dropout: lambda it, _: nn.Dropout(it.rate),
    layer.LocalResponseNormalization: lambda it, _: _operator(
        "LRN", nsize=it.size, alpha=it.alpha, beta=it.beta, knorm=it.k
    ),
    layer.BatchNormalization: lambda it, node: nn.BatchNorm(
        momentum=it.momentum, epsilon=it.epsilon, scale=it.scale, **_inputs(node, "in_channels")
    ),
    layer.Add: lambda *_: _operator("add_n"),
    layer.Concatenate: lambda *_: _operator("concat", dim=1),
}
