"""How long the rest of a study will take, from what its runs took so far. Pure."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prumo.study import Run


class Remaining:
    """The runs that are left, and a guess at their time: the mean of their scenario, or of all."""

    def __init__(self, pending: Iterable[Run], seconds: Mapping[str, Sequence[float]]) -> None:
        self._pending = {run.name: run for run in pending}
        self._seconds = {scenario: list(values) for scenario, values in seconds.items()}
        self.done = 0

    @property
    def total(self) -> int:
        """Runs ended and left, as far as is known now."""
        return self.done + len(self._pending)

    def started(self, run: Run) -> None:
        """Count a run that an adaptive study added."""
        self._pending.setdefault(run.name, run)

    def ended(self, run_name: str, scenario: str, wall_seconds: float | None) -> None:
        """Count a run as ended; a run that was not started teaches nothing about time."""
        self._pending.pop(run_name, None)
        self.done += 1
        if wall_seconds is not None:
            self._seconds.setdefault(scenario, []).append(wall_seconds)

    def seconds(self) -> float | None:
        """The expected time of what is left; None before the first run ended."""
        known = {scenario: fmean(values) for scenario, values in self._seconds.items() if values}
        if not known:
            return None
        overall = fmean(known.values())
        return sum(known.get(run.scenario.name, overall) for run in self._pending.values())
