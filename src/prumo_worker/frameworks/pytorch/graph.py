"""A network's nodes as PyTorch modules, computed in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from prumo_worker.frameworks.pytorch.operations import module
from prumo_worker.networks.network import IMAGE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from prumo_worker.networks import Network
    from prumo_worker.networks.network import Node


class Graph:
    """The modules of a network, without storage until `to_empty` gives them some."""

    def __init__(self, network: Network, *, dropout: bool = True) -> None:
        self._nodes = network.nodes
        self._outputs = (network.nodes[-1].name, *(head.layer for head in network.auxiliary))
        # On the meta device PyTorch draws no weights of its own, which takes long and is in vain.
        with torch.device("meta"):
            self.modules = nn.ModuleList(module(node, dropout=dropout) for node in network.nodes)
        # Plain tuples, because the walk over them is part of every timed step.
        self._walk = [
            (node.name, node.inputs, part, spent)
            for node, part, spent in zip(network.nodes, self.modules, self._last_uses())
        ]

    @property
    def parameters(self) -> int:
        """Numbers in all weights and state."""
        return sum(array.numel() for array in self.modules.state_dict().values())

    def outputs(self, images: torch.Tensor) -> list[torch.Tensor]:
        """The class scores, then those of the auxiliary heads.

        A value is let go after its last use, as memory is what limits batches.
        """
        values = {IMAGE: images}
        for name, inputs, part, spent in self._walk:
            values[name] = part(*[values[source] for source in inputs])
            for source in spent:
                del values[source]
        return [values[name] for name in self._outputs]

    def load(self, weights: Mapping[str, np.ndarray]) -> None:
        """Copy weights and state in, under the names of `initial_weights`."""
        with torch.no_grad():
            for node, part in zip(self._nodes, self.modules):
                for name, array in part.state_dict().items():
                    array.copy_(torch.from_numpy(weights[f"{node.name}.{name}"]))

    def _last_uses(self) -> Sequence[Sequence[str]]:
        """For each node the values that no later one needs."""
        last = _last_positions(self._nodes)
        return [
            [name for name in set(node.inputs) - set(self._outputs) if last[name] == position]
            for position, node in enumerate(self._nodes)
        ]


def _last_positions(nodes: Sequence[Node]) -> dict[str, int]:
    return {name: position for position, node in enumerate(nodes) for name in node.inputs}
