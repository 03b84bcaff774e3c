"""A month of answers in money, and where serverless endpoints and instances break even."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prumo.money.billing import HOURS_PER_MONTH
from prumo_endpoint.keep_warm.never import Never
from prumo_endpoint.keep_warm.ping import Ping
from prumo_endpoint.keep_warm.provisioned import Provisioned
from prumo_endpoint.keep_warm.times import AnswerTimes
from prumo_endpoint.keep_warm.tournament import (
    SECONDS_PER_MONTH,
    Endpoint,
    Prices,
    compared,
)
from prumo_endpoint.money.offers import (
    DAYS_PER_MONTH,
    PEAK_FACTOR,
    Answers,
    BreakEven,
    Instances,
    Serverless,
    break_even,
)
from prumo_endpoint.traces import DAY_SECONDS, Arrivals

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

TRAFFIC = np.geomspace(1e3, 1e9, 400)
PRICES = Prices(0.00004, reserved_per_second=0.00001, reserved_work_per_second=0.00002)


def answers(warm: ArrayLike, cold: ArrayLike = ()) -> Answers:
    one, other = np.asarray(warm, float), np.asarray(cold, float)
    return Answers(one, other, one, other)


def month(offer: Serverless | Instances, requests: float) -> float:
    return float(offer.monthly(np.array([requests]))[0, 0])


def cold_share(offer: Serverless, requests: float) -> float:
    return float(offer.cold_share(np.array([requests]))[0])


def test_a_published_break_even_comes_out() -> None:
    # A widely used benchmark: 2 GB, 100 ms, an instance of 0.056 USD an hour, months of 720 hours.
    serverless = Serverless(answers([0.1] * 10), PRICES)
    instance = Instances(0.056 * 720 / HOURS_PER_MONTH, (1000.0,))

    assert 0.056 * 720 / month(serverless, 1) == pytest.approx(10_080_000)
    found = break_even(serverless, instance, TRAFFIC)
    assert found.requests_per_month == pytest.approx(10_080_000, rel=1e-6)
    assert found.low == pytest.approx(10_080_000, rel=1e-6)
    assert found.high == pytest.approx(10_080_000, rel=1e-6)


@pytest.mark.parametrize(
    ("mean_seconds", "memory_gb", "published"),
    [(1.88, 1, 0.0000376), (0.86, 2, 0.0000344), (0.68, 3, 0.0000408), (0.36, 2, 0.0000144)],
)
def test_the_cost_of_an_answer_is_its_mean_time_at_the_price_of_the_memory(
    mean_seconds: float, memory_gb: int, published: float
) -> None:
    spread = mean_seconds * np.linspace(0.9, 1.1, 25)
    offer = Serverless(answers(spread), Prices(0.00002 * memory_gb))

    # Begun milliseconds are billed whole, which no publication counts.
    assert month(offer, 1) == pytest.approx(published, rel=2e-3)


def test_data_in_and_out_comes_on_top_of_the_time_of_answers_and_pings() -> None:
    # The published figures above are of time alone.
    alone = answers([0.86] * 25)
    measured = replace(alone, mean_bytes=2.0**20)
    offer = Serverless(measured, Prices(0.00004), per_byte=0.016 / 2**30)

    assert offer.data_per_answer == pytest.approx(0.016 / 1024)
    assert month(offer, 1) == pytest.approx(0.0000344 + 0.016 / 1024)
    pinged = replace(offer, ping_seconds=300.0)
    pings = SECONDS_PER_MONTH / 300
    without = Serverless(alone, Prices(0.00004), ping_seconds=300.0)
    assert month(pinged, 1) - month(without, 1) == pytest.approx((1 + pings) * 0.016 / 1024)


@pytest.mark.parametrize("per_day", [100, 1000, 5000, 30_000])
def test_cold_starts_and_cost_are_those_of_a_simulated_platform(per_day: int) -> None:
    source = np.random.default_rng(1)
    warm, cold = source.gamma(40, 0.86 / 40, 150), source.gamma(40, 12.5 / 40, 10)
    seconds = np.cumsum(source.exponential(DAY_SECONDS / per_day, 30_000))
    endpoint = Endpoint(AnswerTimes(cold.tolist(), warm.tolist()), PRICES, 600.0)
    traces = [Arrivals(seconds, float(seconds[-1]))]
    never, ping, provisioned = compared(
        [Never(), Ping(300.0), Provisioned(1)], traces, endpoint
    ).entries
    offer = Serverless(answers(warm, cold), PRICES, 600.0)
    pinged = Serverless(answers(warm, cold), PRICES, 600.0, ping_seconds=300.0)
    reserved = Serverless(answers(warm, cold), PRICES, 600.0, reserved_instances=1)
    requests = 30_000 / seconds[-1] * SECONDS_PER_MONTH

    for entry, formula in ((never, offer), (ping, pinged), (provisioned, reserved)):
        assert cold_share(formula, requests) == pytest.approx(
            entry.cold_share.value, rel=0.15, abs=0.001
        )
        assert month(formula, requests) == pytest.approx(entry.monthly_cost.value, rel=0.05)


def test_without_measured_cold_starts_none_are_made_up() -> None:
    offer = Serverless(answers([0.1] * 9), PRICES)

    assert cold_share(offer, 10) == 0
    assert month(offer, 10) == pytest.approx(10 * 0.1 * 0.00004)


def test_as_many_instances_are_paid_as_the_peaks_need() -> None:
    instance = Instances(0.1, (10.0,))
    seconds = SECONDS_PER_MONTH / PEAK_FACTOR

    assert month(instance, 9 * seconds) == pytest.approx(0.1 * HOURS_PER_MONTH)
    assert instance.holds(9 * seconds) is True
    assert month(instance, 35 * seconds) == pytest.approx(4 * 0.1 * HOURS_PER_MONTH)
    assert instance.holds(35 * seconds) is False
    assert Instances(0.1).holds(1) is None
    assert math.isinf(month(Instances(0.1, (0.0,)), 1))
    offer = Serverless(answers([1.0] * 9), PRICES, max_concurrency=20)
    assert (offer.holds(20 * seconds), offer.holds(21 * seconds)) == (True, False)


def test_an_instance_that_is_cheaper_only_in_between_has_no_break_even() -> None:
    # It costs less than the reserve at little traffic, and its answers cost more at much.
    serverless = Serverless(answers([0.1] * 9), PRICES, reserved_instances=1)
    instance = Instances(0.03, (0.5,))
    found = break_even(serverless, instance, TRAFFIC)

    assert not found.exists
    assert found.second_between is not None
    low, high = found.second_between
    assert month(instance, low) < month(serverless, low)
    assert low < high < TRAFFIC[-1]


def test_scattered_measurements_give_a_wide_break_even() -> None:
    instance = Instances(0.2, (500.0,))

    def found(scatter: float) -> BreakEven:
        warm = np.random.default_rng(1).normal(0.1, scatter, 20)
        return break_even(Serverless(answers(warm), PRICES), instance, TRAFFIC)

    def width(even: BreakEven) -> float:
        assert even.low
        assert even.high
        return even.high / even.low

    sure, unsure = found(0.001), found(0.02)
    assert width(unsure) > width(sure) > 1
    assert sure.chance_first[0] == 1.0
    assert sure.chance_first[-1] == 0.0
    assert all(np.diff(sure.chance_first) <= 0)


def test_runs_that_differ_give_a_wider_interval_than_their_requests_pooled() -> None:
    source = np.random.default_rng(1)
    warm = np.concatenate([source.normal(mean, 0.01, 50) for mean in (0.1, 0.2)])
    cold = warm[:0]

    def width(runs: list[str]) -> float:
        measured = Answers(warm, cold, warm, cold, runs)
        assert measured.warm_means[0] == answers(warm).warm_means[0]
        offer = Serverless(measured, PRICES)
        found = offer.interval(offer.monthly(np.array([1000.0]))[:, 0])
        assert found.low is not None
        assert found.high is not None
        return found.high - found.low

    pooled = width([])
    assert width(["r1"] * 100) == pooled
    assert width(["r1", "r2"] * 50) < 2 * pooled
    # Both draws can be of the same run: the interval reaches from one mean to the other.
    apart = width(["r1"] * 50 + ["r2"] * 50)
    assert apart > 4 * pooled
    assert apart == width(["r1"] * 50 + ["r2"] * 50)


def test_few_measurements_give_a_break_even_without_an_interval() -> None:
    instance = Instances(0.2, (500.0,))
    few, more = (
        break_even(Serverless(answers([0.1, 0.2] * n), PRICES), instance, TRAFFIC) for n in (3, 4)
    )

    assert few.exists
    assert (few.low, few.high) == (None, None)
    assert more.low is not None


def test_an_interval_is_open_at_the_end_at_which_there_is_no_break_even() -> None:
    offer = Serverless(answers([0.1] * 9), PRICES)
    free, precious = Instances(0.0, (1e9,)), Instances(1e6, (1e9,))
    always, never = break_even(offer, free, TRAFFIC), break_even(offer, precious, TRAFFIC)

    assert (always.requests_per_month, always.low, always.high) == (0, 0, 0)
    assert set(always.chance_first) == {0.0}
    assert (never.requests_per_month, never.low, never.high) == (math.inf,) * 3
    assert set(never.chance_first) == {1.0}
    assert not always.exists
    assert not never.exists


def test_a_percentile_needs_its_requests_at_the_share_of_cold_starts() -> None:
    few, many = answers([0.1] * 129, [5.0] * 9), answers([0.1] * 200, [5.0] * 20)

    assert few.percentile(0.95, 0.0) is None
    assert many.percentile(0.95, 0.0) == 0.1
    assert many.needed(0.95, 0.0) == 130
    # One in forty is cold, so the 95th percentile is the 97.4th of the warm ones.
    assert many.needed(0.95, 0.025) > 200
    assert many.percentile(0.95, 0.025) is None
    # Half are cold: the percentile is the 90th of these, of which 20 say too little.
    assert many.needed(0.95, 0.5) == 64
    assert answers([0.1] * 9, [5.0] * 64).percentile(0.95, 0.5) == 5.0
    assert many.needed(0.95, 0.0499999) > 10_000


def test_few_requests_within_a_goal_are_not_taken_for_certain() -> None:
    within = answers([0.1] * 50, [5.0] * 9)

    assert 0.9 < within.chance_within(0.5, 0.95, 0.0) < 0.99
    assert within.chance_within(0.05, 0.95, 0.0) < 0.001
    assert within.chance_within(0.5, 0.95, 0.2) < 0.001
    assert within.chance_within(6.0, 0.95, 0.2) > 0.5
    assert answers([0.1] * 5).chance_within(0.5, 0.95, 0.0) < 0.8


def test_too_few_values_have_no_interval() -> None:
    requests = np.array([1000.0 * DAYS_PER_MONTH])
    few, more = (Serverless(answers([0.1, 0.2] * n), PRICES) for n in (3, 4))

    assert few.interval(few.monthly(requests)[:, 0]).low is None
    interval = more.interval(more.monthly(requests)[:, 0])
    assert interval.low is not None
    assert interval.low < interval.value
    price = Instances(0.1, (5.0,))
    exact = price.interval(price.monthly(requests)[:, 0])
    assert exact.low == exact.high == exact.value


def test_endpoints_with_as_many_measurements_are_resampled_independently() -> None:
    spread = np.random.default_rng(1).gamma(4, 0.025, 50)
    requests = np.array([1000.0])
    one, other = (Serverless(answers(spread * factor), PRICES) for factor in (1.0, 1.05))

    # In step with each other, the first would be cheaper in every resample.
    chance = (one.monthly(requests)[1:] < other.monthly(requests)[1:]).mean()
    assert 0.5 < chance < 0.9
    again = Serverless(answers(spread), PRICES).monthly(requests)
    assert again.tolist() == one.monthly(requests).tolist()


def test_instances_with_as_many_runs_are_resampled_independently() -> None:
    rates = np.array([5.0, 8.0, 11.0, 14.0, 17.0])
    one, other = (Instances(0.1, tuple(rates * factor)) for factor in (1.05, 1.0))
    requests = np.array([1000 * SECONDS_PER_MONTH])

    chance = (one.count(requests)[1:] < other.count(requests)[1:]).mean()
    assert 0.5 < chance < 0.9
