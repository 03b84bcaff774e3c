"""When each policy pings: by a timer, by the hour, by what it learned, and never by the future."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prumo_endpoint.keep_warm.fixed_hours import FixedHours
from prumo_endpoint.keep_warm.forecaster import Forecaster
from prumo_endpoint.keep_warm.hybrid_histogram import BIN_SECONDS, HybridHistogram, IdleHistogram
from prumo_endpoint.keep_warm.never import Never
from prumo_endpoint.keep_warm.ping import Ping
from prumo_endpoint.keep_warm.policy import Policy, next_ping
from prumo_endpoint.keep_warm.provisioned import Provisioned
from prumo_endpoint.traces import Arrivals

HOUR, DAY = 3600.0, 86_400.0
TIMEOUT = 600.0
POLICIES = [
    Never(),
    Ping(300.0),
    FixedHours(8, 18),
    Provisioned(2),
    HybridHistogram(),
    Forecaster(0.1),
    Forecaster(0.5),
]


def calls(seconds: object, length: float, second_of_day: float = 0.0) -> Arrivals:
    return Arrivals(np.sort(np.asarray(seconds, dtype=np.float64)), length, second_of_day)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@settings(max_examples=60, deadline=None)
@given(
    minutes=st.lists(st.integers(0, 6 * 24 * 60), min_size=2, max_size=120, unique=True),
    cut=st.integers(1, 6 * 24 * 60),
    timeout=st.sampled_from([30.0, TIMEOUT, 2 * HOUR]),
)
def test_no_policy_knows_the_future(
    policy: Policy, minutes: list[int], cut: int, timeout: float
) -> None:
    whole = calls([60.0 * minute + 7 for minute in minutes], 7 * DAY)
    until = 60.0 * cut
    past = whole.seconds[whole.seconds < until]
    if not len(past):
        return

    pings = policy.pings(whole, timeout)
    known = policy.pings(calls(past, until), timeout)

    assert (np.diff(pings) > 0).all()
    assert ((pings >= 0) & (pings < whole.length_seconds)).all()
    # A ping at the very moment of the cut may belong to either side.
    assert pings[pings < until - 1e-6].tolist() == known[known < until - 1e-6].tolist()


def test_a_running_endpoint_is_pinged_at_the_same_moments() -> None:
    policy = Forecaster(0.1)
    day = np.array([8.0, 8.5, 9.2, 12.0, 15.0]) * HOUR
    whole = calls(np.concatenate([number * DAY + day for number in range(6)]), 6 * DAY)
    pings = policy.pings(whole, TIMEOUT)
    live = []
    now = 0.0
    while now < whole.length_seconds:
        heard = replace(whole, seconds=whole.seconds[whole.seconds <= now])
        following = whole.seconds[whole.seconds > now]
        call = float(following[0]) if len(following) else whole.length_seconds
        ping = next_ping(policy, heard, TIMEOUT, now) if len(heard.seconds) else None
        if ping is not None and ping < call:
            live.append(ping)
        now = min(call, ping or call)

    assert len(pings) > 10
    assert live == pytest.approx(pings.tolist())


def test_a_timer_pings_from_the_start_to_the_end() -> None:
    assert Ping(300.0).pings(calls([5.0], 1000.0), TIMEOUT).tolist() == [0.0, 300.0, 600.0, 900.0]
    assert [Ping(300.0).name, Ping(45.0).name] == ["ping 5 min", "ping 45 s"]


def test_a_schedule_keeps_one_instance_warm_in_its_hours() -> None:
    trace = calls([0.0], 2 * DAY)

    pings = FixedHours(8, 18).pings(trace, TIMEOUT)

    hour = pings % DAY / HOUR
    assert len(pings) == 2 * np.ceil(10 * HOUR / (0.9 * TIMEOUT))
    assert hour.min() == 8.0
    assert hour.max() < 18.0
    assert np.diff(pings[: len(pings) // 2]).max() < TIMEOUT


def test_a_schedule_follows_the_clock_of_the_trace_and_passes_midnight() -> None:
    trace = calls([0.0], DAY, second_of_day=20 * HOUR)

    pings = FixedHours(22, 2).pings(trace, TIMEOUT)

    assert pings.min() == 2 * HOUR
    assert 5.8 * HOUR < pings.max() < 6 * HOUR


def test_the_hybrid_histogram_starts_an_instance_shortly_before_a_regular_call() -> None:
    every = 2 * HOUR
    trace = calls(np.arange(0, 10 * DAY, every), 10 * DAY)

    pings = HybridHistogram().pings(trace, TIMEOUT)

    late = pings[pings > 5 * DAY]
    since_call = late % every
    assert since_call.min() == pytest.approx(0.9 * every)
    # A minute's bin and the margin of a tenth leave a window of about half an hour.
    assert len(late) == 5 * 12 * np.ceil((every - 0.9 * every) / (0.9 * TIMEOUT))


def test_the_hybrid_histogram_keeps_all_hours_while_it_knows_nothing() -> None:
    pings = HybridHistogram().pings(calls([0.0], DAY), TIMEOUT)

    assert pings.max() < 4 * HOUR
    assert np.diff(pings, prepend=0.0).max() == pytest.approx(0.9 * TIMEOUT)


def test_a_histogram_that_is_filled_evenly_says_nothing() -> None:
    histogram = IdleHistogram()
    for minute in range(240):
        histogram.add(minute * BIN_SECONDS)

    assert histogram.window() == (0.0, 4 * HOUR)


def test_percentiles_of_idle_times_have_a_margin_of_a_tenth() -> None:
    histogram = IdleHistogram()
    for minutes in [30] * 98 + [20, 60]:
        histogram.add(minutes * BIN_SECONDS)

    head, tail = histogram.window()

    assert head == pytest.approx(0.9 * 30 * 60)
    assert tail == pytest.approx(1.1 * 31 * 60)


def test_calls_that_are_rarer_than_the_histogram_are_forecast() -> None:
    every = 10 * HOUR
    trace = calls(np.arange(0, 20 * DAY, every), 20 * DAY)

    pings = HybridHistogram().pings(trace, TIMEOUT)

    late = pings[pings > 5 * DAY] % every
    assert late.min() == pytest.approx(0.85 * every)


def test_the_forecaster_learns_the_time_of_day() -> None:
    noise = np.random.default_rng(1)
    morning = [day * DAY + 9 * HOUR + np.sort(noise.random(12)) * 2 * HOUR for day in range(10)]
    trace = calls(np.concatenate(morning), 10 * DAY)

    pings = Forecaster(0.3).pings(trace, TIMEOUT)

    late = pings[pings > 5 * DAY] % DAY / HOUR
    assert ((late > 8.5) & (late < 11.5)).mean() > 0.95
    assert len(late) > 10


def test_the_forecaster_learns_the_length_of_silences() -> None:
    # Every half hour, at another time of each day.
    trace = calls(np.arange(0, 8 * DAY, 1800.0 + 1.7), 8 * DAY)

    pings = Forecaster(0.5).pings(trace, TIMEOUT)

    late = pings[pings > 2 * DAY]
    since_call = late - trace.seconds[np.searchsorted(trace.seconds, late) - 1]
    # The third ninth minute is the last one before the call.
    assert since_call.tolist() == pytest.approx([3 * 0.9 * TIMEOUT] * len(late))
    assert len(late) > 200


def test_a_higher_threshold_sends_fewer_pings() -> None:
    noise = np.random.default_rng(2)
    trace = calls(noise.random(600) * 14 * DAY, 14 * DAY)

    sent = [len(Forecaster(threshold).pings(trace, TIMEOUT)) for threshold in (0.05, 0.3, 0.6)]

    assert sent[0] > sent[1] > sent[2]
