from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from prumo.analyse.interval import mean_interval, relative_half_width_percent, t_quantile

# NIST/SEMATECH e-Handbook 1.3.5.2, confidence limits for the mean, data set ZARR13.DAT:
# N = 195, mean 9.261460, standard deviation 0.022789, 95 % limits 9.258242 and 9.264679.
NIST_N, NIST_MEAN, NIST_DEVIATION = 195, 9.261460, 0.022789

# Student (1908), Biometrika 6: extra hours of sleep with drug 1, ten patients.
SLEEP = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]


def test_the_quantile_is_that_of_printed_t_tables() -> None:
    assert t_quantile(0.95, 4) == pytest.approx(2.776, abs=5e-4)
    assert t_quantile(0.95, 1) == pytest.approx(12.706, abs=5e-4)
    assert t_quantile(0.99, 10) == pytest.approx(3.169, abs=5e-4)


def test_the_interval_of_the_nist_handbook_is_found_again() -> None:
    half = t_quantile(0.95, NIST_N - 1) * NIST_DEVIATION / NIST_N**0.5

    assert NIST_MEAN - half == pytest.approx(9.258242, abs=2e-6)
    assert NIST_MEAN + half == pytest.approx(9.264679, abs=2e-6)


def test_students_sleep_data_give_the_interval_that_r_prints() -> None:
    interval = mean_interval(SLEEP)

    assert interval.mean == pytest.approx(0.75)
    assert interval.low == pytest.approx(-0.5297804, abs=1e-6)
    assert interval.high == pytest.approx(2.0297804, abs=1e-6)


@given(
    values=st.lists(st.floats(0.1, 1e6), min_size=2, max_size=30, unique=True),
    confidence=st.sampled_from([0.5, 0.9, 0.95, 0.999]),
)
def test_the_interval_agrees_with_scipy(values: list[float], confidence: float) -> None:
    interval = mean_interval(values, confidence)
    low, high = stats.t.interval(
        confidence, len(values) - 1, loc=sum(values) / len(values), scale=stats.sem(values)
    )

    assert interval.low == pytest.approx(low, rel=1e-9, abs=1e-6)
    assert interval.high == pytest.approx(high, rel=1e-9, abs=1e-6)


def test_a_single_value_has_a_mean_and_no_interval() -> None:
    interval = mean_interval([3.0])

    assert interval.mean == 3.0
    assert interval.half_width is None
    assert interval.low is None
    assert relative_half_width_percent([3.0]) is None


def test_a_mean_of_zero_has_no_relative_width() -> None:
    assert relative_half_width_percent([-1.0, 1.0]) is None


def test_values_that_are_not_finite_are_no_values() -> None:
    assert relative_half_width_percent([1.0, float("nan")]) is None
    assert relative_half_width_percent([9.0, 11.0, float("inf")]) == pytest.approx(
        relative_half_width_percent([9.0, 11.0])
    )


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert relative_half_width_percent([2.0, 2.0, 2.0]) == 0.0


def test_about_95_of_100_intervals_hold_the_true_mean() -> None:
    source = random.Random(7)
    held = 0
    for _ in range(2000):
        interval = mean_interval([source.gauss(10, 1) for _ in range(4)])
        assert interval.low is not None
        assert interval.high is not None
        held += interval.low <= 10 <= interval.high

    assert 0.935 < held / 2000 < 0.965
