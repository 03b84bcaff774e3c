"""A month of answers in money, and where serverless and instances break even."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prumo_endpoint.cost import (
    HOURS_PER_MONTH,
    BreakEven,
    Instances,
    Serverless,
    Traffic,
    break_even,
)

TRAFFIC = np.geomspace(1e4, 1e9, 200).tolist()


def test_a_published_break_even_comes_out() -> None:
    # A widely used benchmark: 2 GB, 100 ms, an instance of 0.056 USD an hour, months of 720 hours.
    serverless = Serverless("2 GB", 0.00004, warm_seconds=(0.1,))
    per_answer = serverless.monthly_usd(Traffic(1))

    assert 0.056 * 720 / per_answer == pytest.approx(10_080_000)
    months = 720 / HOURS_PER_MONTH
    instance = Instances("small", 0.056 * months, capacity_per_second=(1000.0,))
    found = break_even(serverless, instance, TRAFFIC)
    assert found.requests_per_month == pytest.approx(10_080_000, rel=1e-6)


def test_cold_starts_cost_most_where_requests_are_rare() -> None:
    offer = Serverless("2 GB", 0.00004, warm_seconds=(0.1,), cold_seconds=(10.0,))

    assert offer.cold_share(Traffic(1)) == pytest.approx(1, abs=1e-3)
    assert offer.cold_share(Traffic(1e7)) < 1e-9
    assert offer.per_thousand_usd(Traffic(10)) == pytest.approx(1000 * 10 * 0.00004, rel=0.01)
    assert offer.per_thousand_usd(Traffic(1e7)) == pytest.approx(1000 * 0.1 * 0.00004)


def test_pings_and_provisioned_instances_avoid_cold_starts_and_are_paid() -> None:
    cold = Serverless("2 GB", 0.00004, warm_seconds=(0.1,), cold_seconds=(10.0,))
    pinged = Serverless("2 GB", 0.00004, (0.1,), (10.0,), pings_per_hour=12)
    too_rare = Serverless("2 GB", 0.00004, (0.1,), (10.0,), pings_per_hour=1)
    ready = Serverless("2 GB", 0.00004, (0.1,), (10.0,), provisioned=1)
    paid = Serverless(
        "2 GB", 0.00004, (0.1,), (10.0,), provisioned=1, provisioned_usd_per_second=0.00001
    )
    traffic = Traffic(1000)

    assert pinged.cold_share(traffic) == 0
    assert too_rare.cold_share(traffic) == cold.cold_share(traffic) > 0
    pings = pinged.monthly_usd(traffic) - 1000 * 0.1 * 0.00004
    assert pings == pytest.approx(12 * HOURS_PER_MONTH * 0.1 * 0.00004)
    assert ready.cold_share(traffic) == 0
    difference = paid.monthly_usd(traffic) - ready.monthly_usd(traffic)
    assert difference == pytest.approx(0.00001 * 3600 * HOURS_PER_MONTH)


def test_an_instance_that_cannot_hold_the_traffic_has_no_price() -> None:
    instance = Instances("small", 0.1, capacity_per_second=(10.0,))
    several = Instances("small", 0.1, capacity_per_second=(10.0,), most_instances=4)
    month = 3600 * HOURS_PER_MONTH

    assert instance.monthly_usd(Traffic(9 * month)) == pytest.approx(0.1 * HOURS_PER_MONTH)
    assert math.isinf(instance.monthly_usd(Traffic(11 * month)))
    assert math.isinf(instance.monthly_usd(Traffic(4 * month, peak_factor=3)))
    assert several.count(Traffic(35 * month)) == 4


def test_scattered_measurements_give_a_wide_break_even() -> None:
    instance = Instances("large", 0.2, capacity_per_second=(500.0,))

    def interval(scatter: float) -> BreakEven:
        warm = tuple(np.random.default_rng(1).normal(0.1, scatter, 20).tolist())
        return break_even(Serverless("2 GB", 0.00004, warm), instance, TRAFFIC)

    sure, unsure = interval(0.001), interval(0.05)
    assert sure.low is not None
    assert sure.high is not None
    assert unsure.low is not None
    assert unsure.high is not None
    assert unsure.high / unsure.low > sure.high / sure.low > 1
    assert sure.probability[0] == 1.0
    assert sure.probability[-1] == 0.0
    assert all(np.diff(sure.probability) <= 0)


def test_where_one_offer_is_always_cheaper_there_is_no_break_even() -> None:
    free = Instances("free", 0.0, capacity_per_second=(1e9,))
    found = break_even(Serverless("2 GB", 0.00004, (0.1,)), free, TRAFFIC)

    assert found.requests_per_month is None
    assert set(found.probability) == {0.0}
