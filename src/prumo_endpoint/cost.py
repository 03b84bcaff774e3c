"""What a month of answers costs: serverless, on instances, on a machine; and where they break even.

Pure: from measured latencies and prices to amounts. A serverless endpoint is paid by the second of
each answer, cold starts included; an instance is paid by the hour, whether it answers or not, and
answers only so many requests a second.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Amounts = Any
"""A number, or a NumPy array of them."""
HOURS_PER_MONTH = 730.0
SECONDS_PER_MONTH = 3600 * HOURS_PER_MONTH
DAYS_PER_MONTH = HOURS_PER_MONTH / 24
BYTES_PER_GIGABYTE = 2**30
RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Traffic:
    """How many requests come, and how unevenly; one amount of traffic, or many at once."""

    requests_per_month: Amounts
    peak_factor: float = 1.0
    """The highest rate that must be held, in terms of the mean rate."""

    @property
    def mean_per_second(self) -> Amounts:
        """Over the whole month."""
        return self.requests_per_month / SECONDS_PER_MONTH

    @property
    def peak_per_second(self) -> Amounts:
        """What must be held."""
        return self.peak_factor * self.mean_per_second


class Offer(ABC):
    """One way of answering, with its price."""

    name: str

    @abstractmethod
    def monthly_usd(self, traffic: Traffic) -> Amounts:
        """The cost of a month; infinite where it cannot hold the traffic."""

    @abstractmethod
    def resampled(self, generator: np.random.Generator) -> Offer:
        """The same offer, with its measured figures drawn anew from themselves."""

    def per_thousand_usd(self, traffic: Traffic) -> Amounts:
        """The cost of 1,000 answers."""
        return 1000 * self.monthly_usd(traffic) / traffic.requests_per_month


@dataclass(frozen=True)
class Serverless(Offer):
    """Paid by the second of each answer.

    >>> offer = Serverless("2 GB", 4e-05, warm_seconds=(0.1,), cold_seconds=(2.0,))
    >>> float(round(offer.monthly_usd(Traffic(10_080_000)), 2))
    40.32
    """

    name: str
    usd_per_second: float
    warm_seconds: tuple[float, ...]
    """Measured: how long answers take."""
    cold_seconds: tuple[float, ...] = ()
    """Measured: how long answers take that start an instance; none where none were measured."""
    idle_seconds: float = 900.0
    """How long an instance stays without requests."""
    usd_per_gigabyte: float = 0.0
    bytes_per_answer: float = 0.0
    provisioned: int = 0
    """Instances that are kept ready."""
    provisioned_usd_per_second: float = 0.0
    """Of each, whether it answers or not."""
    pings_per_hour: float = 0.0
    """Requests that only keep an instance warm."""

    def cold_share(self, traffic: Traffic) -> Amounts:
        """The share of requests that start an instance, where requests come at random.

        The chance that none came within the time that an instance stays.
        """
        if self.provisioned or not self.cold_seconds:
            return 0.0
        if self.pings_per_hour and 3600 / self.pings_per_hour <= self.idle_seconds:
            return 0.0
        return np.exp(-traffic.mean_per_second * self.idle_seconds)

    def monthly_usd(self, traffic: Traffic) -> Amounts:
        """Answers, cold starts, pings, data, and what is kept ready."""
        warm = float(np.mean(self.warm_seconds))
        cold = float(np.mean(self.cold_seconds)) if self.cold_seconds else warm
        share = self.cold_share(traffic)
        seconds = traffic.requests_per_month * (share * cold + (1 - share) * warm)
        seconds += self.pings_per_hour * HOURS_PER_MONTH * warm
        gigabytes = traffic.requests_per_month * self.bytes_per_answer / BYTES_PER_GIGABYTE
        ready = self.provisioned * self.provisioned_usd_per_second * SECONDS_PER_MONTH
        return seconds * self.usd_per_second + gigabytes * self.usd_per_gigabyte + ready

    def resampled(self, generator: np.random.Generator) -> Serverless:
        """With warm and cold latencies drawn anew."""
        return replace(
            self,
            warm_seconds=_drawn(self.warm_seconds, generator),
            cold_seconds=_drawn(self.cold_seconds, generator) if self.cold_seconds else (),
        )


@dataclass(frozen=True)
class Instances(Offer):
    """Paid by the hour; as many as the highest rate needs."""

    name: str
    usd_per_hour: float
    capacity_per_second: tuple[float, ...]
    """Measured: the highest rate that one holds, once for each replication."""
    most_instances: int = 1

    def count(self, traffic: Traffic) -> Amounts:
        """How many instances the traffic needs."""
        capacity = float(np.mean(self.capacity_per_second))
        needed = traffic.peak_per_second / capacity if capacity > 0 else math.inf
        return np.maximum(1, np.ceil(needed))

    def monthly_usd(self, traffic: Traffic) -> Amounts:
        """All hours of the month, for every instance."""
        count = self.count(traffic)
        amount = count * self.usd_per_hour * HOURS_PER_MONTH
        return np.where(count <= self.most_instances, amount, math.inf)

    def resampled(self, generator: np.random.Generator) -> Instances:
        """With its capacity drawn anew."""
        return replace(self, capacity_per_second=_drawn(self.capacity_per_second, generator))


@dataclass(frozen=True)
class BreakEven:
    """Where one offer stops being the cheaper one, as the traffic grows."""

    requests_per_month: float | None
    """By the measured means; None where one of the two is cheaper everywhere."""
    low: float | None
    """Ends of the interval; None where the interval is open."""
    high: float | None
    traffic: tuple[float, ...]
    """Requests per month for which probabilities are given."""
    probability: tuple[float, ...]
    """That the first offer is the cheaper one there."""


def break_even(
    first: Offer,
    second: Offer,
    traffic: Sequence[float],
    peak_factor: float = 1.0,
    seed: int = 1,
) -> BreakEven:
    """Where `second` becomes the cheaper one, and how certain that is at each traffic.

    Measured figures are resampled, so that few or scattered measurements give a wide answer.
    """
    grid = np.asarray(sorted(traffic), float)
    point = _crossing(_differences(first, second, grid, peak_factor), grid)
    generator = np.random.default_rng(seed)
    wins = np.zeros(len(grid))
    crossings = []
    for _ in range(RESAMPLES):
        difference = _differences(
            first.resampled(generator), second.resampled(generator), grid, peak_factor
        )
        wins += difference < 0
        crossings.append(_crossing(difference, grid))
    found = [math.inf if crossing is None else crossing for crossing in crossings]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(found, [tail, 1 - tail], method="higher")
    return BreakEven(
        point,
        None if math.isinf(low) else float(low),
        None if math.isinf(high) else float(high),
        tuple(grid.tolist()),
        tuple((wins / RESAMPLES).tolist()),
    )


def _differences(
    first: Offer, second: Offer, grid: NDArray[np.float64], peak_factor: float
) -> NDArray[np.float64]:
    """Cost of the first less that of the second; what cannot hold the traffic is the dearer one."""
    traffic = Traffic(grid, peak_factor)
    one, other = first.monthly_usd(traffic), second.monthly_usd(traffic)
    with np.errstate(invalid="ignore"):
        difference: NDArray[np.float64] = np.asarray(one - other)
    # Where neither holds the traffic, none is cheaper.
    return np.where(np.isnan(difference), 0.0, difference)


def _crossing(difference: NDArray[np.float64], grid: NDArray[np.float64]) -> float | None:
    """The traffic from which on the second is the cheaper one; None where that never happens."""
    after = np.flatnonzero((difference[:-1] < 0) & (difference[1:] >= 0))
    if not after.size:
        return None
    place = int(after[0])
    left, right = difference[place], difference[place + 1]
    if not math.isfinite(right):
        return float(grid[place + 1])
    share = -left / (right - left)
    return float(grid[place] + share * (grid[place + 1] - grid[place]))


def _drawn(values: Sequence[float], generator: np.random.Generator) -> tuple[float, ...]:
    return tuple(generator.choice(np.asarray(values), len(values)).tolist())
