"""Operations on each value by itself: they keep the shape and have no weights."""

from __future__ import annotations

from dataclasses import dataclass

from prumo_worker.networks.layer.operation import NetworkError, Operation, above_zero


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
