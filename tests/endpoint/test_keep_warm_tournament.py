"""Policies beside each other: money as it is billed, intervals, and who beats whom."""

from __future__ import annotations

import numpy as np
import pytest

from prumo.errors import InputError
from prumo.money.billing import HOURS_PER_MONTH
from prumo.money.pareto import Standing
from prumo_endpoint.keep_warm.fixed_hours import FixedHours
from prumo_endpoint.keep_warm.ping import Ping
from prumo_endpoint.keep_warm.provisioned import Provisioned
from prumo_endpoint.keep_warm.times import AnswerTimes
from prumo_endpoint.keep_warm.tournament import (
    Endpoint,
    Interval,
    Prices,
    Tournament,
    compared,
)
from prumo_endpoint.traces import Arrivals

DAY, MONTH = 86_400.0, 3600 * HOURS_PER_MONTH
# Calls never come at the moment of a ping.
HOURLY = Arrivals(np.arange(0, 10 * DAY, 3600.0) + 1810, 10 * DAY)
TIMES = AnswerTimes([5.0], [0.5])


def endpoint(prices: Prices, times: AnswerTimes = TIMES) -> Endpoint:
    return Endpoint(times, prices, idle_timeout_seconds=600.0)


def entries(tournament: Tournament) -> dict[str, float]:
    return {entry.policy: entry.monthly_cost.value for entry in tournament.entries}


def test_calls_and_pings_are_paid_by_the_second() -> None:
    policies = [Ping(540.0), Provisioned(1)]
    prices = Prices(0.001, 0.0001, 0.0005)

    costs = entries(compared(policies, [HOURLY], endpoint(prices)))

    months = MONTH / (10 * DAY)
    calls, pings = HOURS_PER_MONTH, np.ceil(10 * DAY / 540) * months
    assert costs["never"] == pytest.approx(calls * 5.0 * 0.001)
    assert costs["ping 9 min"] == pytest.approx(
        (calls * 0.5 + (pings - months) * 0.5 + months * 5.0) * 0.001, rel=0.001
    )
    assert costs["provisioned 1"] == pytest.approx(MONTH * 0.0001 + calls * 0.5 * 0.0005)


def test_work_on_a_provisioned_instance_may_be_free() -> None:
    free, as_on_demand = (
        entries(compared([Provisioned(1)], [HOURLY], endpoint(Prices(0.001, 0.0001, price))))
        for price in (0.0, None)
    )

    assert free["provisioned 1"] == pytest.approx(MONTH * 0.0001)
    work = HOURS_PER_MONTH * 0.5 * 0.001
    assert as_on_demand["provisioned 1"] == pytest.approx(MONTH * 0.0001 + work)


def test_a_start_that_is_not_billed_leaves_the_price_of_a_warm_answer() -> None:
    costs = entries(compared([], [HOURLY], endpoint(Prices(0.001, bills_start=False))))

    assert costs == {"never": pytest.approx(HOURS_PER_MONTH * 0.5 * 0.001)}


def test_begun_milliseconds_are_billed_whole() -> None:
    times = AnswerTimes([5.0], [0.0301])
    warm = Arrivals(np.arange(0, 10 * DAY, 500.0), 10 * DAY)

    costs = entries(compared([], [warm], endpoint(Prices(1.0), times)))

    calls = len(warm.seconds)
    assert costs["never"] == pytest.approx(MONTH / (10 * DAY) * (5.0 + (calls - 1) * 0.031))


def test_figures_count_answers_and_not_pings() -> None:
    never, ping = compared([Ping(540.0)], [HOURLY], endpoint(Prices(0.001))).entries

    assert (never.calls, never.cold_calls, never.pings) == (240, 240, 0)
    assert never.cold_share.value == 1.0
    assert never.mean_seconds == 5.0
    assert never.p99_seconds is None
    assert never.monthly_cold_calls == pytest.approx(HOURS_PER_MONTH)
    assert (ping.cold_calls, ping.cold_pings, ping.pings) == (0, 1, 1600)
    assert ping.avoided_share.value == 1.0
    assert ping.median_seconds == 0.5


def test_intervals_come_from_days_and_hold_the_figure() -> None:
    noise = np.random.default_rng(1)
    busy = np.repeat(noise.integers(1, 60, 14), 1)
    seconds = np.concatenate([day * DAY + noise.random(n) * DAY for day, n in enumerate(busy)])
    trace = Arrivals(np.sort(seconds), 14 * DAY)

    tournament = compared([FixedHours(8, 18)], [trace], endpoint(Prices(0.001)))

    assert (tournament.blocks, tournament.block_seconds) == (14, DAY)
    for entry in tournament.entries:
        assert entry.monthly_cost.low is not None
        assert entry.monthly_cost.high is not None
        assert entry.monthly_cost.low < entry.monthly_cost.value < entry.monthly_cost.high
    _, schedule = tournament.entries
    assert schedule.avoided_share.low is not None
    assert 0 < schedule.avoided_share.low < schedule.avoided_share.value < 1


def test_resamples_without_cold_answers_say_nothing_about_their_share() -> None:
    # Calls of one day in ten: a third of the resamples have none.
    trace = Arrivals(HOURLY.seconds[:24], 10 * DAY)

    _, ping = compared([Ping(540.0)], [trace], endpoint(Prices(0.001))).entries

    assert ping.avoided_share == Interval(1.0, 1.0, 1.0)
    assert ping.cold_share == Interval(0.0, 0.0, 0.0)


def test_intervals_of_the_same_seed_are_the_same_and_wider_with_more_confidence() -> None:
    noise = np.random.default_rng(1)
    trace = Arrivals(np.sort(noise.random(300) * 14 * DAY), 14 * DAY)
    first, again, wide = (
        compared([], [trace], endpoint(Prices(0.001)), confidence).entries[0].monthly_cost
        for confidence in (0.95, 0.95, 0.99)
    )

    assert first == again
    assert wide.low is not None
    assert first.low is not None
    assert wide.low < first.low


def test_a_short_trace_has_blocks_that_outlast_idle_instances_or_no_intervals() -> None:
    hours = Arrivals(np.arange(0, 12 * 3600.0, 700.0), 12 * 3600.0)
    two_hours = Arrivals(np.arange(0, 7200.0, 10.0), 7200.0)

    some = compared([], [hours], endpoint(Prices(0.001)))
    none = compared([], [two_hours], endpoint(Prices(0.001)))

    assert some.blocks == 14
    assert some.block_seconds == pytest.approx(12 * 3600 / 14)
    assert none.blocks == 0
    assert none.entries[0].monthly_cost.low is None
    assert none.entries[0].standing is Standing.OPEN


def test_a_policy_that_costs_more_and_avoids_no_more_is_dominated() -> None:
    policies = [Ping(540.0), Ping(60.0)]

    never, nine, one = compared(
        policies, [HOURLY], endpoint(Prices(0.001, bills_start=False))
    ).entries

    assert [never.on_front, nine.on_front, one.on_front] == [True, True, False]
    assert one.standing is Standing.DOMINATED
    assert one.chance_dominated == 1.0
    assert nine.standing is Standing.FRONT


def test_policies_that_do_exactly_the_same_have_one_place_on_the_front() -> None:
    crowded = Arrivals(np.arange(0, 10 * DAY, 60.0), 10 * DAY)
    policies = [Provisioned(1), Provisioned(1)]

    tournament = compared(policies, [crowded], endpoint(Prices(0.001, 0.0)))

    assert [entry.on_front for entry in tournament.entries] == [False, True, False]


def test_calls_at_the_same_time_stay_cold_beside_one_warm_instance() -> None:
    pairs = Arrivals(np.repeat(HOURLY.seconds, 2), 10 * DAY)

    tournament = compared([], [pairs], endpoint(Prices(0.001)))

    assert tournament.entries[0].cold_calls == 480
    assert tournament.cold_calls_beside_one == 240


def test_traces_are_endpoints_of_their_own_and_their_figures_add_up() -> None:
    alone = compared([Ping(540.0)], [HOURLY], endpoint(Prices(0.001)))
    twice = compared([Ping(540.0)], [HOURLY, HOURLY], endpoint(Prices(0.001)))

    assert twice.traces == 2
    for one, both in zip(alone.entries, twice.entries, strict=True):
        assert both.cold_calls == 2 * one.cold_calls
        assert both.monthly_cost.value == pytest.approx(2 * one.monthly_cost.value)


@pytest.mark.parametrize("seconds", [0.001, 0.0, -1.0, 0.999, float("nan")])
def test_times_below_a_second_are_refused(seconds: float) -> None:
    with pytest.raises(InputError, match="give at least 1 s"):
        Ping(seconds)
    with pytest.raises(InputError, match="give at least 1 s"):
        Endpoint(TIMES, Prices(0.001), seconds)


def test_reserved_instances_need_a_price_and_a_trace_needs_a_length() -> None:
    with pytest.raises(InputError, match="'provisioned 2' needs a price"):
        compared([Provisioned(2)], [HOURLY], endpoint(Prices(0.001)))
    with pytest.raises(InputError, match="says nothing about a month"):
        compared([], [Arrivals(np.zeros(3), 0.0)], endpoint(Prices(0.001)))
    with pytest.raises(InputError, match="give at least 20 h, 10 times the longer of"):
        compared([Ping(7200.0)], [Arrivals(np.zeros(3), 3600.0)], endpoint(Prices(0.001)))
