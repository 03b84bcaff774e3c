"""Each operation of a network as a PyTorch module."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from prumo_worker.networks import layer

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo_worker.networks.network import Node


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
