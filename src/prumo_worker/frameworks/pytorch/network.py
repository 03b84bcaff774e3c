"""A network in PyTorch: a graph of operations, each as a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from prumo_worker.networks import Network, layer
from prumo_worker.networks.network import IMAGE, Node

if TYPE_CHECKING:
    import numpy as np

    from prumo_worker.networks.operation import Operation, Shape


class Graph:
    """The modules of a network, without storage until `to_empty` gives them some."""

    def __init__(self, network: Network, *, dropout: bool = True) -> None:
        self._nodes = network.nodes
        self._outputs = tuple(network.heads)
        # On the meta device PyTorch draws no weights of its own, which takes long and is in vain.
        with torch.device("meta"):
            self.modules = nn.ModuleList(module(node, dropout=dropout) for node in network.nodes)
        last_use = {name: node.name for node in network.nodes for name in node.inputs}
        spent: dict[str, list[str]] = {node.name: [] for node in network.nodes}
        for name in last_use.keys() - network.heads:
            spent[last_use[name]].append(name)
        # Plain tuples, because the walk over them is part of every timed step.
        self._walk = [
            (node.name, node.inputs, part, spent[node.name])
            for node, part in zip(network.nodes, self.modules)
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


def module(node: Node, *, dropout: bool) -> nn.Module:
    """The module of a node; its parameters and buffers have the names of the node's arrays."""
    if isinstance(node.operation, layer.Dropout) and not dropout:
        return nn.Identity()
    return _MODULES[type(node.operation)](node.operation, node.input_shapes[0])


class BatchNormalization(nn.Module):
    """PyTorch's batch normalisation, also for a single value per channel.

    The module that PyTorch has refuses such a batch, and other frameworks take it. There is no
    variance to keep of it, so the running averages stay as they are.
    """

    def __init__(self, channels: int, operation: layer.BatchNormalization) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels)) if operation.scale else None
        self.bias = nn.Parameter(torch.empty(channels))
        self.register_buffer("mean", torch.empty(channels))
        self.register_buffer("variance", torch.empty(channels))
        self._epsilon = operation.epsilon
        # PyTorch's momentum is the share of the new value.
        self._renewal = 1 - operation.momentum

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """By the batch in training, by the running averages otherwise."""
        kept = not self.training or images.numel() > images.shape[1]
        return torch.batch_norm(
            images,
            self.weight,
            self.bias,
            self.mean if kept else None,
            self.variance if kept else None,
            self.training,
            self._renewal,
            self._epsilon,
            torch.backends.cudnn.enabled,
        )


class Function(nn.Module):
    """A module without weights."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.forward = function


_MODULES: dict[type[Operation], Callable[[Any, Shape], nn.Module]] = {
    layer.Convolution: lambda it, shape: nn.Conv2d(
        shape[0], it.outputs, it.kernel, it.stride, it.padding, groups=it.groups, bias=it.bias
    ),
    layer.Padding: lambda it, _: nn.ZeroPad2d((it.left, it.right, it.top, it.bottom)),
    layer.MaxPooling: lambda it, _: nn.MaxPool2d(
        it.kernel, it.stride, it.padding, ceil_mode=it.ceil
    ),
    layer.AveragePooling: lambda it, _: nn.AvgPool2d(
        it.kernel, it.stride, it.padding, ceil_mode=it.ceil, count_include_pad=False
    ),
    layer.GlobalAveragePooling: lambda *_: Function(lambda images: images.mean((2, 3))),
    layer.Flatten: lambda *_: nn.Flatten(),
    layer.Dense: lambda it, shape: nn.Linear(shape[0], it.outputs, bias=it.bias),
    layer.Rectifier: lambda *_: nn.ReLU(),
    layer.ClippedRectifier: lambda it, _: nn.Hardtanh(0.0, it.limit),
    layer.Tanh: lambda *_: nn.Tanh(),
    layer.Dropout: lambda it, _: nn.Dropout(it.rate),
    layer.LocalResponseNormalization: lambda it, _: nn.LocalResponseNorm(
        it.size, it.alpha, it.beta, it.k
    ),
    layer.BatchNormalization: lambda it, shape: BatchNormalization(shape[0], it),
    layer.Add: lambda *_: Function(lambda *values: reduce(torch.add, values)),
    layer.Concatenate: lambda *_: Function(lambda *images: torch.cat(images, 1)),
}
