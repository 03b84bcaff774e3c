"""Convolutions and the zeros that can be put around an image before one."""

from __future__ import annotations

from dataclasses import dataclass

from prumo_worker.networks.layer.operation import (
    Extent,
    NetworkError,
    Operation,
    Shape,
    at_least,
    image,
    pair,
)
from prumo_worker.networks.layer.window import places


@dataclass(frozen=True)
class Convolution(Operation):
    """A two-dimensional convolution with symmetric zero padding."""

    outputs: int
    kernel: Extent
    stride: int = 1
    padding: Extent = 0
    groups: int = 1
    bias: bool = True

    def __post_init__(self) -> None:
        at_least(1, outputs=self.outputs, kernel=self.kernel)
        at_least(1, stride=self.stride, groups=self.groups)
        at_least(0, padding=self.padding)

    def output_shape(self, *inputs: Shape) -> Shape:
        """One channel per output; the window must fit the padded image."""
        channels, height, width = image(inputs)
        if channels % self.groups or self.outputs % self.groups:
            raise NetworkError(
                f"{channels} channels and {self.outputs} outputs do not divide into "
                f"{self.groups} groups"
            )
        return (self.outputs, *places((height, width), self.kernel, self.stride, self.padding))

    def weight_shapes(self, *inputs: Shape) -> dict[str, Shape]:
        """Weights as (outputs, inputs of a group, height, width)."""
        channels = image(inputs)[0]
        shapes: dict[str, Shape] = {
            "weight": (self.outputs, channels // self.groups, *pair(self.kernel))
        }
        if self.bias:
            shapes["bias"] = (self.outputs,)
        return shapes

    def multiply_accumulates(self, *inputs: Shape) -> int:
        """One kernel volume for each output element."""
        channels = image(inputs)[0]
        outputs, height, width = self.output_shape(*inputs)
        kernel_height, kernel_width = pair(self.kernel)
        volume = channels // self.groups * kernel_height * kernel_width
        return outputs * height * width * volume


@dataclass(frozen=True)
class Padding(Operation):
    """Zeros around an image, for networks whose sides are not padded alike."""

    top: int
    bottom: int
    left: int
    right: int

    def __post_init__(self) -> None:
        at_least(0, top=self.top, bottom=self.bottom, left=self.left, right=self.right)

    def output_shape(self, *inputs: Shape) -> Shape:
        """The image and its margins."""
        channels, height, width = image(inputs)
        return (channels, height + self.top + self.bottom, width + self.left + self.right)
