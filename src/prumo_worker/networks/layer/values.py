"""Normalisations: over neighbouring channels, and over a batch."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from prumo_worker.networks.layer.operation import (
    NetworkError,
    Operation,
    Shape,
    above_zero,
    at_least,
    describe,
    features,
    image,
    not_negative,
)


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
        channels = image(inputs)[0]
        bias: dict[str, Shape] = {"bias": (channels,)}
        return {"weight": (channels,), **bias} if self.scale else bias

    def state_shapes(self, *inputs: Shape) -> dict[str, Shape]:
        """The running averages of each channel."""
        channels = image(inputs)[0]
        return {"mean": (channels,), "variance": (channels,)}
