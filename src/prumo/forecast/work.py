"""What a training run computes and moves, from which its time follows. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prumo_worker.networks import Network

NUMBER_BYTES = 4
"""Of one activation in fp32; other precisions have kinds of their own, so the scale is theirs."""
PROFILED_STEPS = 5
BACKWARD = 2
"""The backward pass computes the gradients of the layers' inputs and of their weights."""


@dataclass(frozen=True)
class Work:
    """The size of one training run."""

    flops: float
    """Of one image, forward."""
    activation_bytes: float
    """What the layers give out for one image, forward."""
    parameters: int
    layers: int
    images: int
    """Over all epochs."""
    steps: int
    """Over all epochs."""
    rehearsed_steps: int = 0
    """Steps outside of the timed training: warm-up and profile."""

    @property
    def training_flops(self) -> float:
        """Of the whole training, forward and backward."""
        return (1 + BACKWARD) * self.flops * self.images

    @property
    def images_per_step(self) -> float:
        """The mean batch."""
        return self.images / self.steps


def training_work(  # noqa: PLR0913 (a run has so many sizes)
    net: Network,
    *,
    images: int,
    batch_size: int,
    epochs: int,
    warmup_steps: int = 0,
    profile: bool = False,
) -> Work:
    """The work of training a network; the last batch of an epoch is what is left."""
    return Work(
        flops=net.flops,
        activation_bytes=float(
            sum(prod(node.output_shape) for node in net.nodes) * NUMBER_BYTES,
        ),
        parameters=net.parameters,
        layers=len(net.nodes),
        images=images * epochs,
        steps=ceil(images / batch_size) * epochs,
        rehearsed_steps=warmup_steps + (PROFILED_STEPS if profile else 0),
    )
