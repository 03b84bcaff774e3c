"""When requests are sent: at times fixed in advance, or as answers come back.

An open loop sends at its own times, however slow the server is, as independent users do. A closed
loop sends the next request when an answer has come, as a program that waits for it does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from itertools import count, takewhile
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DRAWN_AT_ONCE = 4096


class Schedule(ABC):
    """Which request is due next; times are seconds since the start."""

    @abstractmethod
    def due(self) -> float | None:
        """When the next request is to be sent; None while that depends on an answer, or at the end.

        Asked again and again; the request stays the next one until it is taken.
        """

    @abstractmethod
    def take(self) -> None:
        """The request that is due has been taken: go on to the next one."""

    def answered(self, at: float) -> None:
        """An answer came, or the request failed."""
        del at


class OpenLoop(Schedule):
    """Sends at given times in rising order, whatever the answers."""

    def __init__(self, times: Iterable[float]) -> None:
        self._times = iter(times)
        self._due = next(self._times, None)

    def due(self) -> float | None:
        """The next of the given times; None after the last."""
        return self._due

    def take(self) -> None:
        """Go on to the next time."""
        self._due = next(self._times, None)


class ClosedLoop(Schedule):
    """A number of users who each wait for an answer, then a pause, and then ask again."""

    def __init__(
        self,
        users: int = 1,
        pause_seconds: float = 0.0,
        *,
        requests: int | None = None,
        seconds: float = math.inf,
    ) -> None:
        """Ends after so many requests, or so many seconds."""
        self._waiting = [0.0] * users
        """When each user who waits for nothing will ask, in rising order."""
        self._pause_seconds = pause_seconds
        self._left = math.inf if requests is None else requests
        self._seconds = seconds

    def due(self) -> float | None:
        """When the first of the users who wait for no answer asks."""
        if not self._waiting or self._left <= 0 or self._waiting[0] >= self._seconds:
            return None
        return self._waiting[0]

    def take(self) -> None:
        """That user now waits for an answer."""
        self._waiting.pop(0)
        self._left -= 1

    def answered(self, at: float) -> None:
        """A user has an answer; pauses are equal, so that who is answered later asks later."""
        self._waiting.append(at + self._pause_seconds)


def constant_times(rate: float, seconds: float, begin: float = 0.0) -> Iterator[float]:
    """Requests at equal distances, `rate` of them a second."""
    return takewhile(
        lambda time: time < begin + seconds, (begin + number / rate for number in count())
    )


def poisson_times(rate: float, seconds: float, seed: int, begin: float = 0.0) -> Iterator[float]:
    """Requests of independent users, `rate` of them a second on average."""
    generator = np.random.default_rng(seed)
    time = begin
    while True:
        for gap in generator.exponential(1 / rate, _DRAWN_AT_ONCE).tolist():
            time += gap
            if time >= begin + seconds:
                return
            yield time


def burst_times(size: int, bursts: int, gap_seconds: float) -> Iterator[float]:
    """Bursts of requests at the same moment, the next one `gap_seconds` later."""
    for burst in range(bursts):
        for _ in range(size):
            yield burst * gap_seconds
