"""Choices at a traffic: amounts with intervals, goals with chances, and the best of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from prumo.money.price import Kind
from prumo_endpoint.keep_warm.tournament import Interval
from prumo_endpoint.money.offers import DAYS_PER_MONTH, Serverless, break_even

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo.report.traffic import TrafficNeed
    from prumo_endpoint.money.choices import Choice, Work
    from prumo_endpoint.money.offers import BreakEven, Numbers

USUAL_REQUESTS_PER_DAY = 1000.0
LIKELY = 0.5
PER_THOUSAND = 1000.0
# From one request a day to what no single endpoint holds.
GRID_PER_DAY = np.geomspace(1.0, 1e8, 321)


@dataclass(frozen=True)
class Compared:
    """A choice at a traffic."""

    choice: Choice
    per_month: Interval
    draws: Numbers
    """The same amount, as measured and in each resample."""
    requests_per_month: float
    cold_share: float
    percentiles: dict[float, float | None]
    """Share of the requests → their longest latency; None with too few requests."""
    chances: dict[float, float]
    """Share of the requests → how likely they keep their goal."""
    holds: bool | None
    """Whether one of it holds the traffic at its peaks; None where that was not measured."""
    goals: Mapping[float, float]
    """Share of the requests → the longest time that they may take, in seconds."""

    @property
    def per_thousand(self) -> Interval:
        """The cost of 1,000 answers."""
        return self._times(PER_THOUSAND / self.requests_per_month)

    @property
    def per_answer(self) -> Interval:
        """The cost of one answer."""
        return self._times(1 / self.requests_per_month)

    @property
    def data_per_thousand(self) -> float | None:
        """The part of it that is data in and out; None where that is not priced."""
        offer = self.choice.offer
        if not isinstance(offer, Serverless) or not offer.per_byte:
            return None
        return PER_THOUSAND * offer.data_per_answer

    @property
    def chance(self) -> float:
        """How likely it keeps all goals."""
        return min(self.chances.values(), default=1.0)

    @property
    def excess(self) -> float:
        """The latency at the goal that is missed most, as a multiple of it."""
        if self.choice.answers is None:
            return inf
        return max(
            (
                self.choice.answers.quantile(share, self.cold_share) / seconds
                for share, seconds in self.goals.items()
            ),
            default=0.0,
        )

    @property
    def is_open(self) -> bool:
        """Whether it can be chosen: measured, and able to hold the traffic.

        Of instances there may be several; a serverless endpoint has a limit.
        """
        is_able = self.holds is True or self.choice.kind is not Kind.SERVERLESS
        return self.choice.answers is not None and is_able and isfinite(self.per_month.value)

    def _times(self, factor: float) -> Interval:
        one = self.per_month
        if one.low is None or one.high is None:
            return Interval(one.value * factor)
        return Interval(one.value * factor, one.low * factor, one.high * factor)

    def chance_cheaper(self, other: Compared) -> float:
        """How likely it costs less than another one."""
        return float((self.draws[1:] < other.draws[1:]).mean())


@dataclass(frozen=True)
class Comparison:
    """All choices for one kind of work at a traffic."""

    work: Work
    need: TrafficNeed
    requests_per_day: float
    compared: tuple[Compared, ...]

    @property
    def ranking(self) -> list[Compared]:
        """Those certain to meet the goals, or else those likely to, the cheapest first."""
        able = [one for one in self.compared if one.is_open]
        certain = [one for one in able if one.chance >= self.need.confidence]
        likely = certain or [one for one in able if one.chance >= LIKELY]
        return sorted(likely, key=lambda one: one.per_month.value)

    @property
    def closest(self) -> Compared | None:
        """Of those that hold the traffic, the most likely to keep the goals, then the fastest."""
        able = [one for one in self.compared if one.is_open]
        return max(able, key=lambda one: (round(one.chance, 3), -one.excess), default=None)

    @property
    def runner_up(self) -> Compared | None:
        """The next endpoint; where there is no other, another way to keep the same one warm."""
        if not self.ranking:
            return None
        first, *rest = self.ranking
        others = [one for one in rest if one.choice.label != first.choice.label]
        return next(iter(others or rest), None)

    @cached_property
    def break_even(self) -> tuple[Choice, Choice, BreakEven] | None:
        """Serverless against an instance: the choice against the cheapest of the other kind.

        An instance that was measured counts before one of which only the price is known.
        """
        order = [*self.ranking, *(one for one in self.compared if one not in self.ranking)]
        serverless = [one.choice for one in order if one.choice.kind is Kind.SERVERLESS]
        instances = sorted(
            (one for one in order if one.choice.kind is not Kind.SERVERLESS),
            key=lambda one: (one.choice.answers is None, one.per_month.value),
        )
        if not serverless or not instances:
            return None
        first, second = serverless[0], instances[0].choice
        grid = GRID_PER_DAY * DAYS_PER_MONTH
        return first, second, break_even(first.offer, second.offer, grid, self.need.confidence)


def compare(work: Work, need: TrafficNeed) -> Comparison:
    """Every choice at the traffic that is asked for."""
    per_day = need.requests_per_day or USUAL_REQUESTS_PER_DAY
    traffic = np.array([per_day * DAYS_PER_MONTH])
    return Comparison(
        work, need, per_day, tuple(_compared(choice, need, traffic) for choice in work.choices)
    )


def _compared(choice: Choice, need: TrafficNeed, traffic: Numbers) -> Compared:
    offer, answers = choice.offer, choice.answers
    draws = offer.monthly(traffic)[:, 0]
    cold_share = float(offer.cold_share(traffic)[0])
    requests_per_month = float(traffic[0])
    shares = {0.95, *need.goals}
    return Compared(
        choice,
        offer.interval(draws, need.confidence),
        draws,
        requests_per_month,
        cold_share,
        {
            share: answers.percentile(share, cold_share) if answers else None
            for share in sorted(shares)
        },
        {
            share: answers.chance_within(seconds, share, cold_share)
            for share, seconds in sorted(need.goals.items())
            if answers
        },
        offer.holds(requests_per_month),
        need.goals,
    )
