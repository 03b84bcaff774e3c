"""A network's nodes as Gluon blocks, and the loss over them, which MXNet compiles to a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mxnet as mx
from mxnet.gluon import HybridBlock
from mxnet.gluon.loss import SoftmaxCrossEntropyLoss

from prumo_worker.frameworks.mxnet.operations import block, parameter_name
from prumo_worker.networks.network import IMAGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from mxnet.gluon import Parameter

    from prumo_worker.networks import Network


class Graph(HybridBlock):
    """The blocks of a network, computed in order."""

    def __init__(self, network: Network, *, dropout: bool) -> None:
        super().__init__(prefix="")
        self._nodes = network.nodes
        self._outputs = (network.nodes[-1].name, *(head.layer for head in network.auxiliary))
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
                found = getattr(part, parameter_name(node.operation, name))
                yield f"{node.name}.{name}", found


class Loss(HybridBlock):
    """A graph and its loss, compiled together."""

    def __init__(self, graph: Graph, network: Network) -> None:
        super().__init__(prefix="")
        self.graph = graph
        self.cross_entropy = SoftmaxCrossEntropyLoss()
        self._head_weights = [head.weight for head in network.auxiliary]

    # As in Graph.
    def hybrid_forward(self, F: Any, images: Any, labels: Any) -> tuple[Any, Any]:  # noqa: ANN401, N803 (above)
        """The mean loss with its auxiliary parts, and the predicted classes."""
        scores, *heads = self.graph(images)
        loss = self.cross_entropy(scores, labels)
        for weight, head in zip(self._head_weights, heads):
            loss = loss + weight * self.cross_entropy(head, labels)
        return F.mean(loss), F.argmax(scores, axis=1)
