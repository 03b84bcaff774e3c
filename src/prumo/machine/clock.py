"""The clock that spans are timed with."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

READINGS = 200


def clock_step_seconds(clock: Callable[[], int] = time.perf_counter_ns) -> float:
    """The shortest span the clock can tell from nothing, looking at it included.

    >>> ticks = iter(range(0, 16_000_000 * 400, 16_000_000))
    >>> clock_step_seconds(lambda: next(ticks))
    0.016
    """
    steps: list[int] = []
    before = clock()
    while len(steps) < READINGS:
        # A coarse clock stands still for many readings, and then moves by its step.
        if (now := clock()) != before:
            steps.append(now - before)
            before = now
    return min(steps) / 1e9
