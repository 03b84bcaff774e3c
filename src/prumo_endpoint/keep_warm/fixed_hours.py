"""Pings during fixed hours of the day, when calls are expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo_endpoint.keep_warm.policy import Policy, refresh_seconds
from prumo_endpoint.traces import DAY_SECONDS

if TYPE_CHECKING:
    from prumo_endpoint.keep_warm.policy import Times
    from prumo_endpoint.traces import Arrivals

HOUR_SECONDS = 3600.0


@dataclass(frozen=True)
class FixedHours(Policy):
    """One instance is warm from an hour of every day to another; over midnight where that is less.

    The hours are those of the trace's own clock, which is UTC for timestamps.
    """

    from_hour: float
    until_hour: float

    @property
    def name(self) -> str:
        """With its hours."""
        return f"schedule {self.from_hour:g}-{self.until_hour:g} h"

    def pings(self, calls: Arrivals, idle_timeout_seconds: float) -> Times:
        """As often as keeps one instance warm, from the first hour on."""
        hours = (self.until_hour - self.from_hour) % 24 or 24.0
        daily = np.arange(0.0, hours * HOUR_SECONDS, refresh_seconds(idle_timeout_seconds))
        first = self.from_hour * HOUR_SECONDS - calls.second_of_day - DAY_SECONDS
        days = np.arange(first, calls.length_seconds, DAY_SECONDS)
        pings = (days[:, None] + daily).ravel()
        return pings[(pings >= 0) & (pings < calls.length_seconds)]
