"""Operations that slide a window over an image: convolutions, padding and pooling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo_worker.networks.layer.operation import (
    Extent,
    NetworkError,
    Operation,
    Shape,
    at_least,
    image,
    pair,
)

if TYPE_CHECKING:
    from prumo_worker.networks.layer import Shape


def places(
    size: tuple[int, int], kernel: Extent, stride: int, padding: Extent, *, ceil: bool = False
) -> tuple[int, int]:
    """The places in each direction; with `ceil` a last window may hang over the far edge."""
    sides = list(zip(size, pair(kernel), pair(padding)))
    if any(side + 2 * margin < window for side, window, margin in sides):
        height, width = pair(kernel)
        padded = f" with padding {padding}" if padding else ""
        raise NetworkError(f"a {height}x{width} window does not fit{padded}")
    down, across = (_along(*side, stride, ceil=ceil) for side in sides)
    return down, across


def _along(side: int, window: int, margin: int, stride: int, *, ceil: bool) -> int:
    room = side + 2 * margin - window
    if not ceil:
        return room // stride + 1
    steps = -(-room // stride)
    # A window that would begin behind the image has nothing to look at.
    return steps if steps * stride >= side + margin else steps + 1


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


Margin = tuple[int, int]
"""Cells before and behind an image in one direction."""


def margins(pooling: Pooling, image: Shape) -> tuple[Margin, Margin]:
    """Cells that the windows reach above and below, left and right of the image."""
    down, across = (
        _margin(pooling, size, places)
        for size, places in zip(image[1:], pooling.output_shape(image)[1:])
    )
    return down, across


def cells_inside(pooling: Pooling, image: Shape) -> tuple[list[int], list[int]]:
    """For each place of the window, how many of its rows and of its columns are of the image."""
    rows, columns = (
        [_cells(pooling, size, place) for place in range(places)]
        for size, places in zip(image[1:], pooling.output_shape(image)[1:])
    )
    return rows, columns


def rounded_up(pooling: Pooling, image: Shape) -> tuple[int, ...]:
    """The places of a window that hangs over the far edge even where it begins behind the image."""
    rooms = [side + 2 * pooling.padding - pooling.kernel for side in image[1:]]
    return tuple(-(-room // pooling.stride) + 1 for room in rooms)


def _margin(pooling: Pooling, size: int, places: int) -> Margin:
    reach = (places - 1) * pooling.stride + pooling.kernel
    return pooling.padding, max(reach - pooling.padding - size, 0)


def _cells(pooling: Pooling, size: int, place: int) -> int:
    begin = place * pooling.stride - pooling.padding
    return min(begin + pooling.kernel, size) - max(begin, 0)
