"""Poolings: one value for each window, or for a whole image."""

from __future__ import annotations

from dataclasses import dataclass

from prumo_worker.networks.layer.operation import NetworkError, Operation, Shape, at_least, image
from prumo_worker.networks.layer.window import places


@dataclass(frozen=True)
class Pooling(Operation):
    """A square window; cells outside the image do not count.

    What hangs over the far edge is left out, or with `ceil` taken in (Caffe's rounding).
    """

    kernel: int
    stride: int
    padding: int = 0
    ceil: bool = False

    def __post_init__(self) -> None:
        at_least(1, kernel=self.kernel, stride=self.stride)
        at_least(0, padding=self.padding)
        if 2 * self.padding > self.kernel:
            raise NetworkError(
                f"padding {self.padding} is more than half of the {self.kernel}x{self.kernel} "
                "window, which would see nothing of the image"
            )

    def output_shape(self, *inputs: Shape) -> Shape:
        """The same channels over fewer places."""
        channels, height, width = image(inputs)
        size = places((height, width), self.kernel, self.stride, self.padding, ceil=self.ceil)
        return (channels, *size)


@dataclass(frozen=True)
class MaxPooling(Pooling):
    """The largest value of each window."""


@dataclass(frozen=True)
class AveragePooling(Pooling):
    """The mean of each window, over its cells inside the image."""


@dataclass(frozen=True)
class GlobalAveragePooling(Operation):
    """The mean of each channel, as a vector."""

    def output_shape(self, *inputs: Shape) -> Shape:
        """One feature per channel."""
        return (image(inputs)[0],)
