"""When samples are due: on a fixed grid, so that small delays do not add up."""

from __future__ import annotations

SHORTEST_PERIOD_SECONDS = 0.1


class Schedule:
    """Due times at whole periods after the start, on a monotonic clock."""

    def __init__(self, start_seconds: float, period_seconds: float) -> None:
        self.period_seconds = max(SHORTEST_PERIOD_SECONDS, period_seconds)
        self._start_seconds = start_seconds
        self._number = 1

    def wait_seconds(self, now_seconds: float) -> float:
        """How long to wait for the next sample; 0 when it is due."""
        return max(0.0, self._due_seconds() - now_seconds)

    def take(self, now_seconds: float) -> bool:
        """Note a sample taken now; True when it came more than half a period late."""
        late = now_seconds - self._due_seconds() > self.period_seconds / 2
        passed = int((now_seconds - self._start_seconds) / self.period_seconds)
        # Periods slept through, as when a laptop is shut, are not made up for.
        self._number = max(self._number, passed) + 1
        return late

    def _due_seconds(self) -> float:
        return self._start_seconds + self._number * self.period_seconds
