"""The clocks of trainers: one that waits for the work before a mark, one that lets it run on.

Both have the same two methods: `mark` is told how to wait for the work so far, and `spans` reads
the seconds between marks when all of it is done.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from time import perf_counter_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Mark = Future[int]


def nothing() -> None:
    """How to wait for work that was done when it returned."""


class HostClock:
    """For work on the processor: the caller waits, and then looks at the host's clock."""

    def mark(self, wait: Callable[[], object] = nothing) -> int:
        """The moment at which `wait` returns, in nanoseconds that never go back."""
        return _moment(wait)

    def spans(self, marks: Sequence[int]) -> list[float]:
        """Seconds between each mark and the next."""
        return _seconds(marks)


class CompletionClock:
    """For devices that work behind the caller's back and give no events of their own.

    A thread waits for each value in turn and looks at the host's clock when it has come. Values
    come in the order in which they were asked for, so that the spans between marks are the
    device's own: one in which nothing had to be waited for is nearly nothing.
    """

    def __init__(self) -> None:
        self._waiter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="completion")

    def mark(self, wait: Callable[[], object] = nothing) -> Mark:
        """The moment at which `wait` returns, asked after all earlier marks."""
        return self._waiter.submit(_moment, wait)

    def spans(self, marks: Sequence[Mark]) -> list[float]:
        """Seconds between each mark and the next; what went wrong in waiting is raised here."""
        return _seconds([mark.result() for mark in marks])


def _moment(wait: Callable[[], object]) -> int:
    wait()
    return perf_counter_ns()


def _seconds(moments: Sequence[int]) -> list[float]:
    return [(after - before) / 1e9 for before, after in zip(moments, moments[1:])]
