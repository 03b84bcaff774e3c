"""Pauses between attempts, each longer than the one before, up to a limit."""

from __future__ import annotations


class Backoff:
    """Bounded exponential backoff: how long to wait before the next attempt.

    >>> backoff = Backoff(first_seconds=0.5, longest_seconds=2.0)
    >>> [backoff.delay() for _ in range(4)]
    [0.5, 1.0, 2.0, 2.0]
    >>> backoff.reset()
    >>> backoff.delay()
    0.5
    """

    def __init__(self, first_seconds: float = 0.5, longest_seconds: float = 30.0) -> None:
        self._first_seconds = first_seconds
        self._longest_seconds = longest_seconds
        self._next_seconds = first_seconds

    def delay(self) -> float:
        """The next pause in seconds; the one after it is longer."""
        seconds = min(self._next_seconds, self._longest_seconds)
        self._next_seconds = 2 * seconds
        return seconds

    def reset(self) -> None:
        """Start with the first pause again, after an attempt that succeeded."""
        self._next_seconds = self._first_seconds
