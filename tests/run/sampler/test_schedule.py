from __future__ import annotations

import pytest

from prumo.run.sampler import Schedule


def test_small_delays_do_not_add_up() -> None:
    schedule = Schedule(100.0, 1.0)
    for second in range(1, 1000):
        assert schedule.wait_seconds(100.0 + second - 0.25) == pytest.approx(0.25)
        assert not schedule.take(100.0 + second + 0.2)


def test_a_sample_more_than_half_a_period_late_is_counted() -> None:
    schedule = Schedule(0.0, 10.0)
    assert not schedule.take(14.9)
    assert schedule.take(25.1)


def test_after_a_long_sleep_there_is_one_sample_and_no_burst() -> None:
    schedule = Schedule(0.0, 1.0)
    assert schedule.take(3600.3)
    assert schedule.wait_seconds(3600.3) == pytest.approx(0.7)


def test_a_sample_taken_a_moment_early_is_not_taken_twice() -> None:
    schedule = Schedule(0.0, 0.1)
    schedule.take(0.09999)
    assert schedule.wait_seconds(0.09999) == pytest.approx(0.10001)


def test_a_period_below_a_tenth_of_a_second_is_raised_to_it() -> None:
    assert Schedule(0.0, 0.001).period_seconds == 0.1
