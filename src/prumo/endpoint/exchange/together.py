"""Several calls at the same time."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Result = TypeVar("Result")


class Together(Generic[Result]):
    """Calls that have begun, each in a thread; Ctrl-C need not wait for any."""

    def __init__(self, calls: Sequence[Callable[[], Result]]) -> None:
        self._results: dict[int, Result] = {}
        self._threads = [
            threading.Thread(target=self._run, args=(place, call), daemon=True)
            for place, call in enumerate(calls)
        ]
        for thread in self._threads:
            thread.start()

    def are_over(self, patience_seconds: float) -> bool:
        """Whether all calls have returned, after waiting so long for them."""
        until = time.monotonic() + patience_seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def results(self) -> list[Result]:
        """What the calls returned, once all have."""
        for thread in self._threads:
            thread.join()
        return [self._results[place] for place in range(len(self._threads))]

    def _run(self, place: int, call: Callable[[], Result]) -> None:
        self._results[place] = call()
