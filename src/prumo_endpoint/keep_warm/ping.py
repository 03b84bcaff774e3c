"""A ping at equal distances, day and night, as a timer sends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import InputError
from prumo.quantity import Quantity
from prumo_endpoint.keep_warm.policy import Policy
from prumo_endpoint.traces import DAY_SECONDS

if TYPE_CHECKING:
    from prumo_endpoint.keep_warm.policy import Times
    from prumo_endpoint.traces import Arrivals

LEAST_PING_SECONDS = 1.0


@dataclass(frozen=True)
class Ping(Policy):
    """One ping every so many seconds, whatever calls there are."""

    every_seconds: float

    def __post_init__(self) -> None:
        if not self.every_seconds >= LEAST_PING_SECONDS:
            raise InputError(
                f"pings every {self.every_seconds:g} s cannot be simulated; give at least "
                f"{LEAST_PING_SECONDS:g} s"
            )

    @property
    def name(self) -> str:
        """With its distance."""
        return f"ping {interval_words(self.every_seconds)}"

    @property
    def pings_per_day(self) -> float:  # type: ignore[override]
        """Whatever the length of a trace."""
        return DAY_SECONDS / self.every_seconds

    def pings(self, calls: Arrivals, idle_timeout_seconds: float) -> Times:
        """From the start to the end."""
        del idle_timeout_seconds
        return np.arange(0.0, calls.length_seconds, self.every_seconds)


def interval_words(seconds: float) -> str:
    """A distance in time as people say it.

    >>> interval_words(300), interval_words(90)
    ('5 min', '90 s')
    """
    if seconds % 60 == 0:
        return f"{seconds / 60:g} min"
    return str(Quantity(seconds, "s", 3))
