"""A figure that was estimated from a sample, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A value with its interval; both ends are None where there is no telling."""

    value: float
    low: float | None
    high: float | None
    n: int
    """Of how many photographs."""
    method: str
    """How the interval was made, such as `Wilson`."""
