"""Ways to answer requests, what a month of each costs, and where two of them break even.

Pure: from measured times and prices to amounts. A serverless endpoint is paid by the millisecond of
each answer, cold starts included, and by its data; an instance is paid by the hour, whether it
answers or not, and answers only so many requests a second. Every amount is an array: traffic along
the last axis, and along the first one what was measured, followed by resamples of it.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from prumo.money.billing import HOURS_PER_MONTH
from prumo.statistics.interval import (
    BOOTSTRAP_MINIMUM_VALUES,
    DEFAULT_CONFIDENCE,
    bootstrap_tail,
)
from prumo_endpoint.keep_warm.tournament import (
    SECONDS_PER_MONTH,
    Interval,
    Prices,
    whole_milliseconds,
)
from prumo_endpoint.load.request_table import requests_needed
from prumo_endpoint.serverless import MAX_CONCURRENCY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

DAYS_PER_MONTH = HOURS_PER_MONTH / 24
RESAMPLES = 2000
CHANCE_DRAWS = 20_000
SEED = 1
PEAK_FACTOR = 3.0
"""Ours: how much more than the mean rate must be held, as traffic is uneven."""
_FURTHEST_SHARE = 0.9999


@dataclass(frozen=True)
class Answers:
    """What was measured of an endpoint at rest; arrays of seconds, one entry per request."""

    warm_seconds: Numbers
    cold_seconds: Numbers
    """From when a request was due; none where no cold start was measured."""
    warm_billed_seconds: Numbers
    cold_billed_seconds: Numbers
    """From when it was sent."""
    warm_runs: Sequence[str] = ()
    cold_runs: Sequence[str] = ()
    """The run of each request; empty where all are of one."""
    mean_bytes: float = 0.0
    """Of a request and its answer."""

    @cached_property
    def warm_means(self) -> Numbers:
        """The mean billed time of a warm answer, then that of each resample."""
        return _resampled_means(self.warm_billed_seconds, self.warm_runs, SEED)

    @cached_property
    def cold_means(self) -> Numbers:
        """The same of a cold start; that of a warm answer where none was measured."""
        if not len(self.cold_seconds):
            return self.warm_means
        return _resampled_means(self.cold_billed_seconds, self.cold_runs, SEED + 1)

    def percentile(self, share: float, cold_share: float) -> float | None:
        """The latency of a mixture of warm and cold answers; None with too few requests."""
        measured = self.warm_seconds if cold_share < 1 - share else self.cold_seconds
        if len(measured) < self.needed(share, cold_share):
            return None
        return self.quantile(share, cold_share)

    def quantile(self, share: float, cold_share: float) -> float:
        """The same, however few requests there are."""
        both = (self.warm_seconds, 1 - cold_share), (self.cold_seconds, cold_share)
        weights = [np.full(len(values), part / max(1, len(values))) for values, part in both]
        return float(
            np.quantile(
                np.concatenate([values for values, _ in both]),
                share,
                weights=np.concatenate(weights),
                method="inverted_cdf",
            )
        )

    def needed(self, share: float, cold_share: float) -> int:
        """How many requests the percentile needs: warm ones, or cold where these are many.

        Cold answers are the slowest, so the percentile lies among them if they are more than what
        is beyond it, and otherwise a bit further up among the warm ones.
        """
        beyond = 1 - share
        inner = share / (1 - cold_share) if cold_share < beyond else 1 - beyond / cold_share
        return requests_needed(min(round(inner, 4), _FURTHEST_SHARE))

    def chance_within(self, seconds: float, share: float, cold_share: float) -> float:
        """How likely at least this share of all answers takes no longer.

        By Jeffreys' posterior of the shares of warm and of cold answers, so that few requests say
        little and never everything.
        """
        source = np.random.default_rng(SEED)
        drawn = [
            source.beta(within + 0.5, len(values) - within + 0.5, CHANCE_DRAWS)
            for values in (self.warm_seconds, self.cold_seconds)
            for within in [int((values <= seconds).sum())]
        ]
        within = (1 - cold_share) * drawn[0] + cold_share * drawn[1]
        return float((within >= share).mean())


def _resampled_means(values: Numbers, runs: Sequence[str], seed: int) -> Numbers:
    """Runs are drawn, then requests within each: those of one run are alike."""
    source = _source(values, seed)
    billed = whole_milliseconds(values)
    labels = np.asarray(runs)
    parts = [billed[labels == run] for run in np.unique(labels)] if len(runs) else [billed]

    def resampled_mean() -> float:
        count = len(parts)
        drawn = [parts[place] for place in source.integers(0, count, count)] if count > 1 else parts
        each = [part[source.integers(0, len(part), len(part))] for part in drawn]
        return float(np.concatenate(each).mean())

    return np.array([billed.mean(), *(resampled_mean() for _ in range(RESAMPLES))])


def _source(values: Numbers, seed: int) -> np.random.Generator:
    """Repeatable, but another one for other values: two endpoints are resampled independently."""
    return np.random.default_rng([seed, zlib.crc32(values.tobytes())])


@dataclass(frozen=True)
class Offer(ABC):
    """One way of answering, with its price."""

    @abstractmethod
    def monthly(self, requests_per_month: Numbers) -> Numbers:
        """The cost of a month: a row for what was measured, and one for each resample."""

    @abstractmethod
    def capacity_per_second(self) -> float | None:
        """The rate that one endpoint holds; None where that was not measured."""

    @property
    @abstractmethod
    def values(self) -> int:
        """How many requests the amounts rest on; 0 where they follow from the price alone."""

    @property
    def has_few_values(self) -> bool:
        """Whether they are too few for an interval."""
        return 0 < self.values < BOOTSTRAP_MINIMUM_VALUES

    def cold_share(self, requests_per_month: Numbers) -> Numbers:
        """The share of requests that meet a cold start."""
        return np.zeros_like(requests_per_month)

    def holds(self, requests_per_month: float) -> bool | None:
        """Whether it holds the traffic at its peaks; None where that is not known."""
        capacity = self.capacity_per_second()
        peak = PEAK_FACTOR * requests_per_month / SECONDS_PER_MONTH
        return None if capacity is None else peak <= capacity

    def interval(self, amounts: Numbers, confidence: float = DEFAULT_CONFIDENCE) -> Interval:
        """An amount, of which the resamples follow, with its interval."""
        value = float(amounts[0])
        if not isfinite(value) or self.has_few_values:
            return Interval(value)
        outside = bootstrap_tail(max(self.values, 2), confidence)
        low, high = np.quantile(amounts[1:], [outside, 1 - outside])
        return Interval(value, float(low), float(high))


@dataclass(frozen=True)
class Serverless(Offer):
    """Paid by the millisecond of each answer; kept warm by nothing, by pings, or for money.

    >>> at_rest = np.array([0.1])
    >>> offer = Serverless(Answers(at_rest, at_rest[:0], at_rest, at_rest[:0]), Prices(4e-05))
    >>> float(offer.monthly(np.array([10_080_000.0]))[0, 0].round(2))
    40.32
    """

    answers: Answers
    prices: Prices
    idle_timeout_seconds: float = 600.0
    """After how long the platform stops an idle instance."""
    ping_seconds: float | None = None
    """The distance of pings, below the time-out; None where none are sent."""
    reserved_instances: int = 0
    per_byte: float = 0.0
    """Of data in and out; 0 where the price is not known."""
    max_concurrency: int = MAX_CONCURRENCY
    """How many instances answer at once at most."""

    @property
    def data_per_answer(self) -> float:
        """What its data costs, whatever time it takes."""
        return self.answers.mean_bytes * self.per_byte

    @property
    def values(self) -> int:
        """Of warm and of cold answers the fewer."""
        counts = len(self.answers.warm_seconds), len(self.answers.cold_seconds)
        return min(count for count in counts if count)

    def cold_share(self, requests_per_month: Numbers) -> Numbers:
        """The share of requests that start an instance, where requests come at random.

        A request that comes while n others are served needs instance n + 1, which is warm if more
        than n were served at some moment within the time-out. The time since then is about
        exponential, with the rate of requests that n instances alone would have to refuse: the
        number served is a chain that looks the same backwards, and their share is Erlang's B.
        """
        if not len(self.answers.cold_seconds):
            return np.zeros_like(requests_per_month)
        rate = self._rate(requests_per_month)
        chance = self._chances(requests_per_month)
        up_to = np.cumsum(chance, axis=-1)
        blocked = np.divide(chance, up_to, out=np.ones_like(chance), where=up_to > 0)
        kept = max(self.reserved_instances, int(self.ping_seconds is not None))
        cold = chance * np.exp(-rate * blocked * self.idle_timeout_seconds)
        return np.asarray(cold[..., kept:].sum(axis=-1))

    def _chances(self, requests_per_month: Numbers) -> Numbers:
        """How likely a request finds 0, 1, 2 … others being served."""
        load = self._rate(requests_per_month) * float(self.answers.warm_means[0])
        most = float(load.max(initial=0.0))
        others = np.arange(int(most + 12 * most**0.5) + 20)
        return np.asarray(np.exp(others * np.log(load) - load - gammaln(others + 1)))

    def _rate(self, requests_per_month: Numbers) -> Numbers:
        """Of requests and pings, a second."""
        pings = 0.0 if self.ping_seconds is None else 1 / self.ping_seconds
        return np.asarray(requests_per_month[..., None] / SECONDS_PER_MONTH + pings)

    def monthly(self, requests_per_month: Numbers) -> Numbers:
        """Answers, cold starts, pings, their data, and what is reserved."""
        share = self.cold_share(requests_per_month)
        warm = self.answers.warm_means[:, None]
        cold = self.answers.cold_means[:, None] if self.prices.bills_start else warm
        reserved = self._chances(requests_per_month)[..., : self.reserved_instances].sum(axis=-1)
        on_demand = share * cold + (1 - share - reserved) * warm
        amount = requests_per_month * (on_demand * self.prices.per_second + self.data_per_answer)
        if self.reserved_instances:
            work = requests_per_month * reserved * warm * self.prices.work_on_reserved_per_second
            per_second = self.reserved_instances * (self.prices.reserved_per_second or 0.0)
            amount = amount + work + SECONDS_PER_MONTH * per_second
        if self.ping_seconds is not None:
            pings = SECONDS_PER_MONTH / self.ping_seconds
            amount = amount + pings * (warm * self.prices.per_second + self.data_per_answer)
        return np.asarray(amount)

    def capacity_per_second(self) -> float:
        """By the most instances that it may have."""
        return self.max_concurrency / float(self.answers.warm_means[0])


@dataclass(frozen=True)
class Instances(Offer):
    """Paid by the hour; as many as the peaks need."""

    per_hour: float
    rates_per_second: tuple[float, ...] = ()
    """Measured: the rate that one holds, in each run; none where it was not measured."""

    @property
    def values(self) -> int:
        """None: an hour costs what it costs."""
        return 0

    def capacity_per_second(self) -> float | None:
        """The mean of its runs."""
        return float(np.mean(self.rates_per_second)) if self.rates_per_second else None

    def count(self, requests_per_month: Numbers) -> Numbers:
        """How many are needed, for what was measured and for each resample; at least one."""
        rates = np.asarray(self.rates_per_second or (inf,))
        drawn = _source(rates, SEED + 2).choice(rates, (RESAMPLES, len(rates))).mean(axis=1)
        capacity = np.array([rates.mean(), *drawn])[:, None]
        peak = PEAK_FACTOR * requests_per_month / SECONDS_PER_MONTH
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(1.0, np.ceil(peak / capacity)))

    def monthly(self, requests_per_month: Numbers) -> Numbers:
        """All hours of the month, for every instance."""
        return self.count(requests_per_month) * self.per_hour * HOURS_PER_MONTH


@dataclass(frozen=True)
class BreakEven:
    """From which traffic on the second of two offers is the cheaper one."""

    requests_per_month: float
    """0 where the second is cheaper at any traffic, infinite where the first is."""
    low: float | None
    high: float | None
    """Ends of the interval; 0 or infinite where it is open there, None with too few values."""
    chance_first: Numbers
    """That the first is the cheaper one, at each traffic."""
    second_between: tuple[float, float] | None = None
    """The traffic between which the second is cheaper, where it is not for all that is more."""

    @property
    def exists(self) -> bool:
        """Whether there is such a traffic."""
        return 0 < self.requests_per_month < inf


def break_even(
    first: Offer, second: Offer, traffic: Numbers, confidence: float = DEFAULT_CONFIDENCE
) -> BreakEven:
    """Where `second` becomes the cheaper one, and how certain that is at each traffic.

    Measured figures are resampled, so that few or scattered measurements give a wide answer.
    """
    difference = first.monthly(traffic) - second.monthly(traffic)
    crossings = np.array([_crossing(row, traffic) for row in difference])
    cheaper = np.flatnonzero(difference[0] > 0)
    outside = (1 - confidence) / 2
    ranked, beyond = np.sort(crossings[1:]), int(outside * RESAMPLES)
    has_interval = not first.has_few_values and not second.has_few_values
    return BreakEven(
        float(crossings[0]),
        float(ranked[beyond]) if has_interval else None,
        float(ranked[-1 - beyond]) if has_interval else None,
        (difference[1:] < 0).mean(axis=0),
        (float(traffic[cheaper[0]]), float(traffic[cheaper[-1]]))
        if crossings[0] == inf and cheaper.size
        else None,
    )


def _crossing(difference: Numbers, traffic: Numbers) -> float:
    """The least traffic from which on the second is never again the more expensive one."""
    first_is_cheaper = np.flatnonzero(difference < 0)
    if not first_is_cheaper.size:
        return 0.0
    place = int(first_is_cheaper[-1])
    if place == len(traffic) - 1:
        return inf
    left, right = difference[place], difference[place + 1]
    return float(traffic[place] + left / (left - right) * (traffic[place + 1] - traffic[place]))
