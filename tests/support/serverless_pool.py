"""A serverless platform followed instance by instance: slow and plain, to check a fast one."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Pool:
    """Instances of an endpoint; the one that was used last is taken first."""

    idle_timeout_seconds: float
    reserved: int = 0
    busy: list[float] = field(default_factory=list)
    """When each one that works will be idle."""
    idle: list[float] = field(default_factory=list)
    """Since when each idle one is, the oldest first."""
    warm_seconds: float = 0.0
    clock: float = 0.0

    def __post_init__(self) -> None:
        self.idle = [-inf] * self.reserved

    def serve(self, now: float, cold_seconds: float, warm_seconds: float) -> bool:
        """Whether the call is answered cold."""
        self.go_to(now)
        is_cold = not self.idle
        if self.idle:
            self.idle.pop()
        heapq.heappush(self.busy, now + (cold_seconds if is_cold else warm_seconds))
        return is_cold

    def go_to(self, now: float) -> None:
        """Let time pass: calls end, idle instances are stopped."""
        while True:
            end = self.busy[0] if self.busy else inf
            can_stop = self.idle and len(self.idle) + len(self.busy) > self.reserved
            stop = self.idle[0] + self.idle_timeout_seconds if can_stop else inf
            event = min(end, stop)
            # An instance that is idle for exactly the time-out still takes a call.
            if event > now or (event == now and stop < end):
                break
            self._pass(event)
            if stop < end:
                self.idle.pop(0)
            else:
                self.idle.append(heapq.heappop(self.busy))
        self._pass(now)

    def _pass(self, until: float) -> None:
        until = max(until, self.clock)
        self.warm_seconds += (until - self.clock) * (len(self.busy) + len(self.idle))
        self.clock = until


@dataclass(frozen=True)
class PoolOutcome:
    """What the pool did with calls and pings."""

    cold_calls: list[int]
    cold_pings: list[int]
    warm_seconds: float


def served(
    pool: Pool,
    calls: Sequence[tuple[float, float, float]],
    pings: Sequence[tuple[float, float, float]],
    length_seconds: float,
) -> PoolOutcome:
    """Calls and pings as (begin, cold seconds, warm seconds); calls first at the same moment."""
    events = [(call[0], 0, place, call) for place, call in enumerate(calls)]
    events += [(ping[0], 1, place, ping) for place, ping in enumerate(pings)]
    cold: tuple[list[int], list[int]] = ([], [])
    for now, kind, place, (_, cold_seconds, warm_seconds) in sorted(events):
        if pool.serve(now, cold_seconds, warm_seconds):
            cold[kind].append(place)
    pool.go_to(max(length_seconds, pool.clock))
    # Work that is not done at the end is counted to its end, beyond what is reserved until then.
    rest = sum(end - pool.clock for end in sorted(pool.busy, reverse=True)[pool.reserved :])
    return PoolOutcome(*cold, pool.warm_seconds + rest)
