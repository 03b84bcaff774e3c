"""A ping at equal distances, day and night, as a timer sends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.quantity import Quantity
from prumo_endpoint.keep_warm.policy import Policy

if TYPE_CHECKING:
    from prumo_endpoint.keep_warm.policy import Times
    from prumo_endpoint.traces import Arrivals


@dataclass(frozen=True)
class Ping(Policy):
    """One ping every so many seconds, whatever calls there are."""

    every_seconds: float

    @property
    def name(self) -> str:
        """With its distance."""
        return f"ping {interval_words(self.every_seconds)}"

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
