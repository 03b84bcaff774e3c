"""A trace of calls through a policy: which answers are cold, and how long instances are warm.

The platform serves one call per instance. A call takes the idle instance that was used last; if
none is warm, it starts another one and is answered cold. An instance is stopped when it has been
idle for the platform's time-out, unless it is one of the reserved ones.

Under this rule a call that arrives while `n` others are served finds a warm instance exactly if
more than `n` calls were served at some moment within the last time-out. So it is enough to know
how many calls are served when, and when that number last fell to `n`: all of it is computed for
whole arrays at once, as if every answer were warm and nobody sent pings (`CallsAtOnce`). What this
leaves out, pings and the longer time of cold answers, changes few calls: those are followed one
by one, in the spans of time in which they matter (`_Disturbances`). The result is exact, not an
approximation; a simulation of single instances in the tests agrees with it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.errors import InputError
from prumo_endpoint.keep_warm.times import QUANTILES
from prumo_endpoint.traces import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from prumo_endpoint.keep_warm.policy import Policy, Times
    from prumo_endpoint.keep_warm.times import AnswerTimes
    from prumo_endpoint.traces import Arrivals

    Indices = NDArray[np.int64]
    Levels = NDArray[np.integer[Any]]
    Call = tuple[float, int, int, float]

_AT_ONCE = 1 << 20
_FEWEST_READ, _MOST_READ = 16, 4096


@dataclass(frozen=True)
class PolicyOutcome:
    """What became of the calls and pings under one policy."""

    policy: Policy
    cold_calls: Indices
    """Which calls were answered cold."""
    pings: Times
    cold_pings: NDArray[np.bool_]
    ping_quantiles: NDArray[np.uint16]
    """Which of the measured times each ping drew."""
    is_reserved: NDArray[np.bool_] | None
    """Which calls a reserved instance served; None where no instance is reserved."""
    warm_instance_seconds: float
    """Of all instances, at work or idle, from the first start on."""
    most_instances: int
    """At work at the same time."""


class CallsAtOnce:
    """The calls of a trace, computed once for all policies.

    >>> calls = CallsAtOnce(arrivals, times, idle_timeout_seconds=600)  # doctest: +SKIP
    >>> outcome = calls.under(Ping(every_seconds=300))  # doctest: +SKIP
    """

    def __init__(
        self, arrivals: Arrivals, times: AnswerTimes, idle_timeout_seconds: float, seed: int = 1
    ) -> None:
        if not 0 < idle_timeout_seconds <= DAY_SECONDS:
            raise InputError(
                f"an idle time-out of {idle_timeout_seconds:g} s cannot be simulated; give more "
                "than 0 and at most a day"
            )
        self.arrivals = arrivals
        self.times = times
        self.idle_timeout_seconds = idle_timeout_seconds
        self.seed = seed
        begins = arrivals.seconds
        count = len(begins)
        self.quantiles = np.random.default_rng(seed).integers(0, QUANTILES, count, dtype=np.uint16)
        self.shortest = np.minimum(times.cold, times.warm)
        """At each quantile: how long a call takes at least, cold or warm."""
        self.ends = begins + self.shortest[self.quantiles]
        self.ends.sort(kind="stable")
        self.levels = _levels(begins, self.ends)
        """How many others are served when each call arrives."""
        self._group_by_level()

    def under(self, policy: Policy) -> PolicyOutcome:
        """What becomes of the calls under a policy."""
        pings = policy.pings(self.arrivals, self.idle_timeout_seconds)
        return _Disturbances(self, policy, pings).outcome()

    def examined(self, reserved: int) -> Indices:
        """The calls that may be cold, or that take longer than their shortest time."""
        may_be_cold = self._late[self.levels[self._late] >= reserved]
        slow = self.times.warm > self.shortest
        if not slow.any():
            return may_be_cold
        return np.union1d(may_be_cold, np.flatnonzero(slow[self.quantiles]))

    def last_fall(self, level: int, seconds: float) -> float:
        """When the number of calls that are served last fell to a level, up to a moment."""
        if level >= len(self.first_of_level) - 1:
            return -inf
        begin, end = self.first_of_level[level], self.first_of_level[level + 1]
        place = int(np.searchsorted(self._falls[begin:end], seconds, side="right"))
        return float(self._falls[begin + place - 1]) if place else -inf

    def next_rise(self, level: int, seconds: float) -> tuple[float, float]:
        """When a call next arrives at a level, from a moment on, and the fall before it."""
        if level >= len(self.first_of_level) - 1:
            return inf, -inf
        begin, end = self.first_of_level[level], self.first_of_level[level + 1]
        place = int(np.searchsorted(self._rises[begin:end], seconds))
        rise = float(self._rises[begin + place]) if begin + place < end else inf
        return rise, float(self._falls[begin + place - 1]) if place else -inf

    def calls_from(self, place: int) -> Iterator[Call]:
        """Begin, quantile, level and idle time of calls from one on; then one that never is."""
        columns = (self.arrivals.seconds, self.quantiles, self.levels, self.idle)
        for part in _growing_parts(place, len(self.levels)):
            yield from zip(*(column[part].tolist() for column in columns), strict=True)
        yield inf, 0, 0, 0.0

    def ends_from(self, place: int) -> Iterator[float]:
        """The shortest ends of calls in rising order, from one on; then one that never is."""
        for part in _growing_parts(place, len(self.ends)):
            yield from self.ends[part].tolist()
        yield inf

    def idle_and_busy_seconds(self, reserved: int) -> float:
        """Of instances beyond the reserved ones, if nothing disturbs the calls."""
        level = min(reserved, len(self.first_of_level) - 1)
        begin = self.first_of_level[level]
        busy = float((self._falls[begin:] - self._rises[begin:]).sum())
        idle = float(self.idle[self.levels >= reserved].sum(dtype=np.float64))
        last_falls = self._falls[np.asarray(self.first_of_level[level + 1 :], dtype=np.int64) - 1]
        left = np.clip(self.arrivals.length_seconds - last_falls, 0, self.idle_timeout_seconds)
        return busy + idle + float(left.sum())

    def _group_by_level(self) -> None:
        """Rises to and falls from a level follow each other: between them an instance is idle."""
        count = len(self.levels)
        self.first_of_level = [0, *np.cumsum(np.bincount(self.levels)).tolist()]
        order = np.argsort(self.levels, kind="stable")
        self._rises = self.arrivals.seconds[order]
        below = _levels_after(self.arrivals.seconds, self.ends)
        self._falls = self.ends[np.argsort(below, kind="stable")]
        del below
        gaps = np.full(count, inf)
        np.subtract(self._rises[1:], self._falls[:-1], out=gaps[1:])
        gaps[self.first_of_level[:-1]] = inf
        self._late = np.sort(order[gaps > self.idle_timeout_seconds])
        np.minimum(gaps, self.idle_timeout_seconds, out=gaps)
        gaps[self.first_of_level[:-1]] = 0.0
        self.idle = np.empty(count, dtype=np.float32)
        """How long the instance that each call takes was idle and warm before."""
        self.idle[order] = gaps


def _levels(begins: Times, ends: Times) -> Levels:
    """How many calls are served at each begin; who ends at that moment has gone."""
    levels = np.empty(len(begins), dtype=np.int32)
    for first in range(0, len(begins), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        over = np.searchsorted(ends, begins[part], side="right")
        levels[part] = np.arange(first, first + len(over)) - over
    return _small(levels)


def _levels_after(begins: Times, ends: Times) -> Levels:
    """How many calls are served after each end."""
    levels = np.empty(len(ends), dtype=np.int32)
    for first in range(0, len(ends), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        begun = np.searchsorted(begins, ends[part], side="left")
        levels[part] = begun - np.arange(first + 1, first + 1 + len(begun))
    return _small(levels)


def _small(levels: NDArray[np.int32]) -> Levels:
    """Numbers of two bytes are sorted much faster."""
    return levels.astype(np.uint16) if levels.max(initial=0) < QUANTILES else levels


def _growing_parts(place: int, end: int) -> Iterator[slice]:
    """Parts of an array to turn into lists; most readers want a few values, some want many."""
    size = _FEWEST_READ
    while place < end:
        yield slice(place, place + size)
        place += size
        size = min(2 * size, _MOST_READ)


class _Disturbances:
    """Follows one by one the calls that pings and cold answers may disturb."""

    def __init__(self, calls: CallsAtOnce, policy: Policy, pings: Times) -> None:
        self._calls = calls
        self._policy = policy
        self._reserved = policy.reserved_instances
        self._timeout = calls.idle_timeout_seconds
        self._cold, self._warm = calls.times.cold.tolist(), calls.times.warm.tolist()
        self._shortest = calls.shortest.tolist()
        self._pings = pings
        self._ping_quantiles = np.random.default_rng((calls.seed, 1)).integers(
            0, QUANTILES, len(pings), dtype=np.uint16
        )
        self._next_ping = 0
        self._cold_calls: list[int] = []
        self._cold_pings: list[int] = []
        self._moved: dict[int, bool] = {}
        """Calls that a reserved instance serves, or no longer serves, because of a disturbance."""
        self._falls: dict[int, float] = {}
        """When the number that are served last fell to a level while it was disturbed."""
        self._unsettled: dict[int, tuple[float, float] | None] = {}
        """Levels whose next rise has another idle time than without the disturbance; that rise."""
        self._over = -inf
        """When the last disturbance was over."""
        self._seconds = calls.idle_and_busy_seconds(self._reserved)
        self._most = int(calls.levels.max()) + 1

    def outcome(self) -> PolicyOutcome:
        """Go from one disturbance to the next."""
        begins = self._calls.arrivals.seconds
        examined = self._calls.examined(self._reserved).tolist()
        place, done = 0, 0
        while True:
            while place < len(examined) and examined[place] < done:
                place += 1
            call = examined[place] if place < len(examined) else None
            call_seconds = inf if call is None else float(begins[call])
            ping_seconds = self._ping_seconds()
            if call is not None and call_seconds <= ping_seconds:
                served = int(self._calls.levels[call])
                done = self._follow(call_seconds, call, call - served)
            elif ping_seconds < inf:
                arrived = int(np.searchsorted(begins, ping_seconds, side="right"))
                ended = int(np.searchsorted(self._calls.ends, ping_seconds, side="right"))
                done = self._follow(ping_seconds, arrived, ended)
            else:
                break
        self._settle(inf, 0)
        return self._outcome()

    def _outcome(self) -> PolicyOutcome:
        calls = self._calls
        length = calls.arrivals.length_seconds
        cold_pings = np.zeros(len(self._pings), dtype=np.bool_)
        cold_pings[self._cold_pings] = True
        is_reserved = None
        if self._reserved:
            is_reserved = np.asarray(calls.levels < self._reserved)
            is_reserved[list(self._moved)] = list(self._moved.values())
        return PolicyOutcome(
            policy=self._policy,
            cold_calls=np.asarray(self._cold_calls, dtype=np.int64),
            pings=self._pings,
            cold_pings=cold_pings,
            ping_quantiles=self._ping_quantiles,
            is_reserved=is_reserved,
            warm_instance_seconds=self._seconds + self._reserved * length,
            most_instances=self._most,
        )

    def _ping_seconds(self) -> float:
        return float(self._pings[self._next_ping]) if self._next_ping < len(self._pings) else inf

    def _follow(self, start: float, arrived: int, ended: int) -> int:
        """From a ping or a call until all is as if undisturbed; the number of calls by then.

        Events of one moment come in this order: ends, calls, pings.
        """
        level, extras, before = arrived - ended, 0, start
        self._settle(start, level)
        calls, ends = self._calls.calls_from(arrived), self._calls.ends_from(ended)
        call, end, ping = next(calls), next(ends), self._ping_seconds()
        extra: list[tuple[float, int]] = []
        """When calls and pings that are not in the calls' own times begin (1) and end (-1)."""
        while True:
            extra_seconds = extra[0][0] if extra else inf
            now = min(call[0], end, extra_seconds, ping)
            if extras and level > self._reserved:
                self._seconds += (now - before) * min(extras, level - self._reserved)
            before = now
            if end == now:
                end = next(ends)
                level -= 1
                self._fall(level, now)
            elif extra_seconds == now:
                change = heapq.heappop(extra)[1]
                extras += change
                if change < 0:
                    level -= 1
                    self._fall(level, now)
                else:
                    self._unsettled.pop(level, None)
                    level += 1
            elif call[0] == now:
                self._serve_call(arrived, call, level, start, extra)
                call = next(calls)
                arrived += 1
                level += 1
            else:
                heapq.heappush(extra, (now + self._serve_ping(now, level, start), -1))
                ping = self._ping_seconds()
                extras += 1
                level += 1
            self._most = max(self._most, level)
            if not extra:
                break
        self._over = before
        return arrived

    def _fall(self, level: int, now: float) -> None:
        self._falls[level] = now
        if level >= self._reserved:
            self._unsettled[level] = None

    def _serve_call(
        self, place: int, call: Call, level: int, start: float, extra: list[tuple[float, int]]
    ) -> None:
        now, quantile, own_level, own_idle = call
        is_cold = self._is_cold(now, level, start)
        if own_level >= self._reserved:
            self._seconds -= own_idle
        if (own_level < self._reserved) != (level < self._reserved):
            self._moved[place] = level < self._reserved
        if is_cold:
            self._cold_calls.append(place)
        seconds = (self._cold if is_cold else self._warm)[quantile]
        shortest = self._shortest[quantile]
        if seconds > shortest:
            heapq.heappush(extra, (now + shortest, 1))
            heapq.heappush(extra, (now + seconds, -1))

    def _serve_ping(self, now: float, level: int, start: float) -> float:
        """How long a ping takes."""
        is_cold = self._is_cold(now, level, start)
        if is_cold:
            self._cold_pings.append(self._next_ping)
        quantile = self._ping_quantiles[self._next_ping]
        self._next_ping += 1
        return float((self._cold if is_cold else self._warm)[quantile])

    def _is_cold(self, now: float, level: int, start: float) -> bool:
        """Whether no warm instance is idle; how long the one that is taken was idle is counted."""
        if level < self._reserved:
            return False
        self._unsettled.pop(level, None)
        fall = self._falls.get(level, -inf)
        if fall < start:
            fall = max(fall, self._calls.last_fall(level, start))
        if fall == -inf:
            return True
        self._seconds += min(now - fall, self._timeout)
        return now - fall > self._timeout

    def _settle(self, until: float, level_then: int) -> None:
        """Correct the idle time of the first calls after the last disturbance, up to the next."""
        timeout, length = self._timeout, self._calls.arrivals.length_seconds
        for level, next_rise in list(self._unsettled.items()):
            rise, own_fall = next_rise or self._calls.next_rise(level, self._over)
            if rise < until or (rise == until and level < level_then):
                self._seconds += min(rise - self._falls[level], timeout)
                self._seconds -= min(rise - own_fall, timeout) if own_fall > -inf else 0.0
                del self._unsettled[level]
            elif until == inf:
                left = min(max(length - self._falls[level], 0.0), timeout)
                own = min(max(length - own_fall, 0.0), timeout) if own_fall > -inf else 0.0
                self._seconds += left - own
            else:
                self._unsettled[level] = rise, own_fall
