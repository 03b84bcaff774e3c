"""The operations that networks are made of: shapes, arrays and work, without any framework."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from prumo_worker.networks.operation import (
    Extent,
    NetworkError,
    Operation,
    Shape,
    above_zero,
    at_least,
    describe,
    features,
    image,
    not_negative,
    pair,
)


def _with_bias(weight: Shape, *, bias: bool) -> dict[str, Shape]:
    return {"weight": weight, "bias": weight[:1]} if bias else {"weight": weight}


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
        return _with_bias((self.outputs, features(inputs)), bias=self.bias)

    def multiply_accumulates(self, *inputs: Shape) -> int:
        """One for each weight."""
        return self.outputs * features(inputs)


@dataclass(frozen=True)
class Flatten(Operation):
    """An image as a vector, channel by channel and row by row."""

    def output_shape(self, *inputs: Shape) -> Shape:
        """As many features as the image has values."""
        return (prod(image(inputs)),)


@dataclass(frozen=True)
class Rectifier(Operation):
    """max(x, 0), known as ReLU."""


@dataclass(frozen=True)
class ClippedRectifier(Operation):
    """min(max(x, 0), limit), known as ReLU6 with its usual limit."""

    limit: float = 6.0

    def __post_init__(self) -> None:
        above_zero(limit=self.limit)


@dataclass(frozen=True)
class Tanh(Operation):
    """The hyperbolic tangent."""


@dataclass(frozen=True)
class Dropout(Operation):
    """In training, each value is 0 with probability `rate`, else divided by 1 - `rate`."""

    rate: float

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1:
            raise NetworkError(f"rate must be at least 0 and less than 1, not {self.rate!r}")


@dataclass(frozen=True)
class Add(Operation):
    """The sum of several values of one shape."""

    def output_shape(self, *inputs: Shape) -> Shape:
        """The shape that all have."""
        _several(inputs)
        if len(set(inputs)) > 1:
            raise NetworkError("can only add what has one shape")
        return inputs[0]


@dataclass(frozen=True)
class Concatenate(Operation):
    """The channels of several images, one image's after the other's."""

    def output_shape(self, *inputs: Shape) -> Shape:
        """As many channels as all have together."""
        _several(inputs)
        images = [image((shape,)) for shape in inputs]
        sizes = {(height, width) for _, height, width in images}
        if len(sizes) > 1:
            found = ", ".join(map(describe, sorted(sizes)))
            raise NetworkError(f"can only join images of one size, not of {found}")
        return (sum(channels for channels, _, _ in images), *sizes.pop())


def _several(inputs: tuple[Shape, ...]) -> None:
    if len(inputs) < 2:  # noqa: PLR2004 (one is nothing to join)
        raise NetworkError("needs two inputs or more")


@dataclass(frozen=True)
class LocalResponseNormalization(Operation):
    """x / (k + alpha / size * sum of squares over `size` neighbouring channels) ** beta."""

    size: int
    alpha: float
    beta: float
    k: float = 1.0

    def __post_init__(self) -> None:
        at_least(1, size=self.size)
        if self.size % 2 == 0:
            raise NetworkError(f"size must be odd, a channel and as many on each side: {self.size}")
        not_negative(alpha=self.alpha, beta=self.beta)
        above_zero(k=self.k)

    def output_shape(self, *inputs: Shape) -> Shape:
        """The shape of the image."""
        return image(inputs)


@dataclass(frozen=True)
class BatchNormalization(Operation):
    """Each channel with mean `bias` and deviation `weight`, then learned further.

    In training a channel is normalised by the mean and the biased variance of its batch, and both
    go into running averages: momentum * old + (1 - momentum) * batch. Inference uses those. Whether
    they take the biased or the unbiased variance is the framework's own rule.
    """

    scale: bool = True
    """Whether there is a `weight` to multiply with."""
    epsilon: float = 1e-3
    momentum: float = 0.99

    def __post_init__(self) -> None:
        above_zero(epsilon=self.epsilon)
        if not 0 <= self.momentum < 1:
            raise NetworkError(
                f"momentum must be at least 0 and less than 1, not {self.momentum!r}"
            )

    def output_shape(self, *inputs: Shape) -> Shape:
        """The shape of the image."""
        return image(inputs)

    def weight_shapes(self, *inputs: Shape) -> dict[str, Shape]:
        """The learned deviation and mean of each channel."""
        channels = image(inputs)[:1]
        return {"weight": channels, "bias": channels} if self.scale else {"bias": channels}

    def state_shapes(self, *inputs: Shape) -> dict[str, Shape]:
        """The running averages of each channel."""
        channels = image(inputs)[:1]
        return {"mean": channels, "variance": channels}


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
        channels = image(inputs)[0] // self.groups
        return _with_bias((self.outputs, channels, *pair(self.kernel)), bias=self.bias)

    def multiply_accumulates(self, *inputs: Shape) -> int:
        """One kernel volume for each output element."""
        volume = image(inputs)[0] // self.groups * prod(pair(self.kernel))
        return prod(self.output_shape(*inputs)) * volume


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
    before = pooling.padding
    reaches = [(n - 1) * pooling.stride + pooling.kernel for n in pooling.output_shape(image)[1:]]
    down, across = (max(reach - before - size, 0) for reach, size in zip(reaches, image[1:]))
    return (before, down), (before, across)


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


def _cells(pooling: Pooling, size: int, place: int) -> int:
    begin = place * pooling.stride - pooling.padding
    return min(begin + pooling.kernel, size) - max(begin, 0)


OPERATIONS: tuple[type[Operation], ...] = (
    Convolution,
    Padding,
    MaxPooling,
    AveragePooling,
    GlobalAveragePooling,
    Flatten,
    Dense,
    Rectifier,
    ClippedRectifier,
    Tanh,
    Dropout,
    LocalResponseNormalization,
    BatchNormalization,
    Add,
    Concatenate,
)
"""Every operation; a framework maps each of them or refuses it."""
