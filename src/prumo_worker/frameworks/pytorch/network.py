"""A network in PyTorch: a graph of operations, each as a module."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from prumo_worker.networks import layer
from prumo_worker.networks.network import IMAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


class GlobalAverage(nn.Module):
    """The mean of each channel."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """One number per channel."""
        return images.mean((2, 3))


class Sum(nn.Module):
    """The sum of several tensors."""

    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        """From left to right."""
        return reduce(torch.add, values)


class Concatenation(nn.Module):
    """Several images as one."""

    def forward(self, *images: torch.Tensor) -> torch.Tensor:
        """Along the channels."""
        return torch.cat(images, 1)


def _convolution(operation: layer.Convolution, shape: layer.Shape) -> nn.Module:
    return nn.Conv2d(
        shape[0],
        operation.outputs,
        operation.kernel,
        stride=operation.stride,
        padding=operation.padding,
        groups=operation.groups,
        bias=operation.bias,
    )


def _padding(operation: layer.Padding, _: layer.Shape) -> nn.Module:
    return nn.ZeroPad2d((operation.left, operation.right, operation.top, operation.bottom))


def _max_pooling(operation: layer.MaxPooling, _: layer.Shape) -> nn.Module:
    return nn.MaxPool2d(
        operation.kernel, operation.stride, operation.padding, ceil_mode=operation.ceil
    )


def _average_pooling(operation: layer.AveragePooling, _: layer.Shape) -> nn.Module:
    return nn.AvgPool2d(
        operation.kernel,
        operation.stride,
        operation.padding,
        ceil_mode=operation.ceil,
        count_include_pad=False,
    )


def _dense(operation: layer.Dense, shape: layer.Shape) -> nn.Module:
    return nn.Linear(shape[0], operation.outputs, bias=operation.bias)


def _local_response(operation: layer.LocalResponseNormalization, _: layer.Shape) -> nn.Module:
    return nn.LocalResponseNorm(operation.size, operation.alpha, operation.beta, operation.k)


_MODULES: dict[type[layer.Operation], Callable[[Any, layer.Shape], nn.Module]] = {
    layer.Convolution: _convolution,
    layer.Padding: _padding,
    layer.MaxPooling: _max_pooling,
    layer.AveragePooling: _average_pooling,
    layer.GlobalAveragePooling: lambda *_: GlobalAverage(),
    layer.Flatten: lambda *_: nn.Flatten(),
    layer.Dense: _dense,
    layer.Rectifier: lambda *_: nn.ReLU(),
    layer.ClippedRectifier: lambda operation, _: nn.Hardtanh(0.0, operation.limit),
    layer.Tanh: lambda *_: nn.Tanh(),
    layer.Dropout: lambda operation, _: nn.Dropout(operation.rate),
    layer.LocalResponseNormalization: _local_response,
    layer.BatchNormalization: lambda operation, shape: BatchNormalization(shape[0], operation),
    layer.Add: lambda *_: Sum(),
    layer.Concatenate: lambda *_: Concatenation(),
}
