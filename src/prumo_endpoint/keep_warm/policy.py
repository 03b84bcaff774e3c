"""What keeps an endpoint warm: a policy sends pings, or reserves instances, knowing only the past.

A ping is a call that nobody waits for: it starts an instance, or keeps one from being stopped when
it has been idle too long. It may be answered cold itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prumo_endpoint.traces import Arrivals

    Times = NDArray[np.float64]

# A ping must come before the platform stops the instance, and its own way takes time.
REFRESH_SHARE = 0.9
LOOKAHEAD_SECONDS = 86_400.0


class Policy(ABC):
    """A way to keep instances warm.

    >>> Ping(every_seconds=300).pings(arrivals, idle_timeout_seconds=600)  # doctest: +SKIP
    """

    reserved_instances = 0
    """How many instances the platform keeps warm for money."""
    pings_per_day: float | None = None
    """Where it does not depend on the calls."""

    @property
    @abstractmethod
    def name(self) -> str:
        """In tables and figures: `ping 5 min`."""

    @abstractmethod
    def pings(self, calls: Arrivals, idle_timeout_seconds: float) -> Times:
        """When pings are sent, in rising order, between the start and the end of the calls.

        A ping depends on calls before it and on no later one, so that the same policy can be used
        while calls arrive; see `next_ping`.
        """


def next_ping(
    policy: Policy, calls: Arrivals, idle_timeout_seconds: float, now_seconds: float
) -> float | None:
    """When a running endpoint is to be pinged next if no further call comes; None within a day."""
    until = replace(calls, length_seconds=now_seconds + LOOKAHEAD_SECONDS)
    pings = policy.pings(until, idle_timeout_seconds)
    place = int(np.searchsorted(pings, now_seconds, side="right"))
    return float(pings[place]) if place < len(pings) else None


def refresh_seconds(idle_timeout_seconds: float) -> float:
    """How often one instance must be used so that it is never stopped."""
    return REFRESH_SHARE * idle_timeout_seconds


def silences(calls: Arrivals) -> tuple[Times, Times]:
    """After every call: when it came, and when the next one does or the trace ends."""
    return calls.seconds, np.append(calls.seconds[1:], calls.length_seconds)
