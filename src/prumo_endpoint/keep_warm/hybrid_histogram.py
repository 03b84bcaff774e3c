"""The hybrid histogram policy of Shahrad et al. (2020), "Serverless in the Wild", USENIX ATC.

It counts how long the endpoint was idle between calls, in bins of a minute up to four hours. After
a call the instance may go; it is started again shortly before the 5th percentile of these times
and kept until shortly after the 99th. Where the histogram says nothing (its bins are filled too
evenly: coefficient of variation below 2), the instance is kept for the whole four hours. Where
most times are longer than four hours, the next one is forecast.

Two things differ from the paper. A customer of a platform cannot stop instances, only ping them,
so the platform's idle time-out comes on top. And rare calls are forecast by exponential smoothing,
which is ARIMA(0,1,1), instead of an ARIMA model that is fitted anew after every call.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from prumo_endpoint.keep_warm.policy import Policy, refresh_seconds, silences

if TYPE_CHECKING:
    from prumo_endpoint.keep_warm.policy import Times
    from prumo_endpoint.traces import Arrivals

BIN_SECONDS = 60.0
BINS = 240
HEAD_SHARE, TAIL_SHARE = 0.05, 0.99
MARGIN = 0.10
LEAST_VARIATION = 2.0
RARE_SHARE = 0.5
RARE_MARGIN = 0.15
SMOOTHING = 0.3


class HybridHistogram(Policy):
    """Warm when the endpoint's own idle times say that a call is due."""

    name = "hybrid histogram"

    def pings(self, calls: Arrivals, idle_timeout_seconds: float) -> Times:
        """In every long silence, those of the window that the silences before it give."""
        refresh = refresh_seconds(idle_timeout_seconds)
        begins, ends = silences(calls)
        idle = ends - begins
        # Shorter silences all fall into the first bin, and no ping is ever due in them.
        long = np.flatnonzero(idle >= min(BIN_SECONDS, refresh))
        histogram = IdleHistogram()
        found = []
        for seen, place in enumerate(long.tolist()):
            histogram.short = place - seen
            if idle[place] > refresh:
                window = histogram.window()
                found.append(
                    begins[place] + _offsets(*window, refresh, idle_timeout_seconds, idle[place])
                )
            histogram.add(float(idle[place]))
        return np.concatenate(found) if found else np.empty(0)


@dataclass
class IdleHistogram:
    """How long an endpoint was idle so far."""

    short: int = 0
    """Silences that were not even looked at; they belong in the first bin."""
    beyond: int = 0
    forecast_seconds: float = 0.0
    """Of the next silence, by smoothing those beyond the histogram."""

    def __post_init__(self) -> None:
        self._bins = np.zeros(BINS)

    def add(self, seconds: float) -> None:
        """One more silence."""
        if seconds < BINS * BIN_SECONDS:
            self._bins[int(seconds // BIN_SECONDS)] += 1
            return
        step = SMOOTHING if self.beyond else 1.0
        self.forecast_seconds += step * (seconds - self.forecast_seconds)
        self.beyond += 1

    def window(self) -> tuple[float, float]:
        """From when to when after a call an instance is to be warm."""
        bins = self._bins.copy()
        bins[0] += self.short
        inside = float(bins.sum())
        if self.beyond > RARE_SHARE * (inside + self.beyond):
            return (
                (1 - RARE_MARGIN) * self.forecast_seconds,
                (1 + RARE_MARGIN) * self.forecast_seconds,
            )
        if not inside or bins.std() < LEAST_VARIATION * bins.mean():
            return 0.0, BINS * BIN_SECONDS
        filled = np.cumsum(bins) / inside
        head = int(np.searchsorted(filled, HEAD_SHARE)) * BIN_SECONDS
        tail = (int(np.searchsorted(filled, TAIL_SHARE)) + 1) * BIN_SECONDS
        return (1 - MARGIN) * head, (1 + MARGIN) * tail


def _offsets(head: float, tail: float, refresh: float, idle_timeout: float, idle: float) -> Times:
    """When after a call pings are due for an instance to be warm from head to tail."""
    if tail <= idle_timeout:
        return np.empty(0)
    first = refresh if head <= idle_timeout else head
    count = max(0, ceil((min(tail, idle) - first) / refresh))
    return first + refresh * np.arange(count, dtype=np.float64)
