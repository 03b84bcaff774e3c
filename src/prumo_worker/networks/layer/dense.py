"""Fully connected layers and the step from an image to a vector."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from prumo_worker.networks.layer.operation import Operation, Shape, at_least, features, image


@dataclass(frozen=True)
class Dense(Operation):
    """A fully connected layer."""

    outputs: int
    bias: bool = True

    def __post_init__(self) -> None:
        at_least(1, outputs=self.outputs)

    def output_shape(self, *inputs: Shape) -> Shape:
        """One feature per output."""
        features(inputs)
        return (self.outputs,)

    def weight_shapes(self, *inputs: Shape) -> dict[str, Shape]:
        """Weights as (outputs, inputs)."""
        shapes: dict[str, Shape] = {"weight": (self.outputs, features(inputs))}
        if self.bias:
            shapes["bias"] = (self.outputs,)
        return shapes

    def multiply_accumulates(self, *inputs: Shape) -> int:
        """One for each weight."""
        return self.outputs * features(inputs)


@dataclass(frozen=True)
class Flatten(Operation):
    """An image as a vector, channel by channel and row by row."""

    def output_shape(self, *inputs: Shape) -> Shape:
        """As many features as the image has values."""
        return (prod(image(inputs)),)
