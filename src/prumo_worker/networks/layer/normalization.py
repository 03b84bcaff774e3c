"""Normalisations: over neighbouring channels, and over a batch."""

from __future__ import annotations

from dataclasses import dataclass

from prumo_worker.networks.layer.operation import (
    NetworkError,
    Operation,
    Shape,
    above_zero,
    at_least,
    image,
    not_negative,
)


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
