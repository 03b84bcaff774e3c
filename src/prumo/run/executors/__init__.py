"""The interface of an executor: somewhere a run can be carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prumo.results.record import RunRecord
    from prumo.study import Run


class Executor(Protocol):
    """Carries out one run and gives its record, whatever happens to the run."""

    def execute(self, run: Run, order: int) -> RunRecord:
        """Carry out a run, the `order`-th of this study, and record it in its folder."""

    def skip(self, run: Run, order: int, reason: str) -> RunRecord:
        """Record a run that is not worth trying."""
