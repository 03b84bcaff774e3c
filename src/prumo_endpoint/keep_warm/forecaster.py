"""Pings where a call is likely: a forecast from the time of day and from the length of a silence.

Whenever an instance is about to be stopped, two experts say how probable a call is before a ping
would have to be repeated:

- by the time of day: on which share of the last four weeks' days a call came in the same span,
  recent days counting more;
- by the silence: which share of earlier silences of this length ended within the same span.

Shares are smoothed: k of n count as (k + 1/2) / (n + 1). The two forecasts are mixed with weights
by how well each expert did so far (Bayes' rule on their likelihoods: the mixture's log loss is at
most ln 2 worse than that of the better expert, however calls come; Cesa-Bianchi and Lugosi 2006,
section 9.2). A warm instance is pinged if the probability reaches a threshold: what a ping costs
against what a cold answer is worth. One that is gone is started again only where a call is more
likely than not, since such a ping takes as long as a cold answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo_endpoint.keep_warm.policy import Policy, refresh_seconds, silences
from prumo_endpoint.traces import DAY_SECONDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prumo_endpoint.keep_warm.policy import Times
    from prumo_endpoint.traces import Arrivals

    Booleans = NDArray[np.bool_]

DAYS_REMEMBERED = 28
HALF_LIFE_DAYS = 7.0
RESTART_CHANCE = 0.5


@dataclass(frozen=True)
class Forecaster(Policy):
    """Pings when a call before the next ping is at least this probable."""

    threshold: float = 0.1

    @property
    def name(self) -> str:
        """With its threshold."""
        return f"forecast {100 * self.threshold:g} %"

    def pings(self, calls: Arrivals, idle_timeout_seconds: float) -> Times:
        """Those of the moments of decision at which a call is likely."""
        span = refresh_seconds(idle_timeout_seconds)
        moments = _moments(calls, span)
        if not len(moments.seconds):
            return np.empty(0)
        daily = _by_time_of_day(calls, moments.seconds, span)
        silent = _by_silence(moments)
        weight = _weight_of_first(daily, silent, moments.is_followed)
        chances = weight * daily + (1 - weight) * silent
        return moments.seconds[self._are_sent(moments.number, chances)]

    def _are_sent(self, numbers: NDArray[np.int64], chances: Times) -> Booleans:
        """At which moments a ping is sent; after a call, and after a ping, an instance is warm."""
        sent = np.zeros(len(chances), dtype=np.bool_)
        restart = max(self.threshold, RESTART_CHANCE)
        is_sent = False
        for place, (number, chance) in enumerate(
            zip(numbers.tolist(), chances.tolist(), strict=True)
        ):
            is_warm = number == 1 or is_sent
            is_sent = chance >= (self.threshold if is_warm else restart)
            sent[place] = is_sent
        return sent


@dataclass(frozen=True)
class _Moments:
    """When decisions fall: every span after a call, until the next one comes."""

    seconds: Times
    number: NDArray[np.int64]
    """How many spans the silence lasts already."""
    is_followed: Booleans
    """Whether a call came within a span; known only when it is over."""


def _moments(calls: Arrivals, span: float) -> _Moments:
    begins, ends = silences(calls)
    long = np.flatnonzero(ends - begins > span)
    begins, ends = begins[long], ends[long]
    counts = np.ceil((ends - begins) / span).astype(np.int64) - 1
    silence = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(silence)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    seconds = begins[silence] + number * span
    # The last silence ends with the trace and not with a call.
    has_call = long[silence] < len(calls.seconds) - 1
    return _Moments(seconds, number, (ends[silence] <= seconds + span) & has_call)


def _by_time_of_day(calls: Arrivals, moments: Times, span: float) -> Times:
    """The decayed share of earlier days with a call in the same span of the day."""
    days, called = np.ones_like(moments), np.full_like(moments, 0.5)
    for day in range(1, DAYS_REMEMBERED + 1):
        begin = moments - day * DAY_SECONDS
        first, last = np.searchsorted(calls.seconds, (begin, begin + span))
        weight = np.where(begin >= 0, 0.5 ** (day / HALF_LIFE_DAYS), 0.0)
        days += weight
        called += weight * (last > first)
    return np.asarray(called / days)


def _by_silence(moments: _Moments) -> Times:
    """The share of earlier silences of the same length that ended within the span."""
    order = np.argsort(moments.number, kind="stable")
    number, followed = moments.number[order], moments.is_followed[order].astype(np.float64)
    first = np.searchsorted(number, number)
    before = np.arange(len(order)) - first
    total = np.cumsum(followed) - followed
    share = np.empty(len(order))
    share[order] = (total - total[first] + 0.5) / (before + 1.0)
    return share


def _weight_of_first(first: Times, second: Times, is_followed: Booleans) -> Times:
    """How much the first of two experts counts, by the likelihood of what both have forecast."""
    odds = np.log(np.where(is_followed, first / second, (1 - first) / (1 - second)))
    earlier = np.cumsum(odds) - odds
    return np.asarray(1 / (1 + np.exp(-np.clip(earlier, -50, 50))))
