from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from prumo.statistics.interval import (
    BOOTSTRAP_MINIMUM_VALUES,
    bootstrap_interval,
    mean_interval,
    relative_half_width_percent,
    t_quantile,
)
from prumo.statistics.summary import summarise

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRIALS = 4000


def mean_of_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(rows.mean(axis=-1))


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


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("deviation", [0.05, 0.2, 0.5])
def test_intervals_of_normal_amounts_cover_the_mean_as_often_as_they_say(
    n: int, deviation: float
) -> None:
    cut = stats.truncnorm(-1 / deviation, np.inf, loc=1, scale=deviation)
    values = cut.rvs((TRIALS, n), random_state=n)

    assert 0.93 < _coverage(values, cut.mean()) < 0.97


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("deviation", [0.05, 0.2])
def test_intervals_of_lognormal_amounts_cover_the_mean_as_often_as_they_say(
    n: int, deviation: float
) -> None:
    assert 0.93 < _coverage(_lognormal(TRIALS, n, deviation), 1.0) < 0.97


@pytest.mark.parametrize("n", [2, 3, 5])
def test_an_amounts_interval_covers_as_much_as_students_where_that_falls_short(n: int) -> None:
    values = _lognormal(TRIALS, n, deviation=0.5)
    half = t_quantile(0.95, n - 1) * values.std(axis=1, ddof=1) / n**0.5
    student = np.mean(np.abs(values.mean(axis=1) - 1) <= half)

    assert _coverage(values, 1.0) == pytest.approx(student, abs=0.002)


@given(values=st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=6))
def test_the_interval_of_an_amount_is_above_zero_and_holds_the_mean(values: list[float]) -> None:
    interval = mean_interval(values, is_amount=True)
    assert interval.low is not None
    assert interval.high is not None

    assert 0 < interval.low <= interval.mean <= interval.high


def test_the_interval_of_an_amount_is_students_unless_that_nears_zero() -> None:
    near, far = [9.0, 10.0, 11.0], [1.0, 10.0, 25.0]

    assert mean_interval(near, is_amount=True).low == mean_interval(near).low
    assert mean_interval(far, is_amount=True).low == pytest.approx(0.025 * 12)
    assert mean_interval(far, is_amount=True).high == mean_interval(far).high


def test_values_below_zero_are_no_amounts_whatever_they_are_called() -> None:
    values = [-1.0, 2.0, 5.0]

    assert mean_interval(values, is_amount=True).low == mean_interval(values).low


def test_the_bootstrap_interval_of_a_mean_nears_students() -> None:
    values = np.random.default_rng(3).normal(10, 1, 30).tolist()
    student = mean_interval(values)
    found = bootstrap_interval(values, mean_of_rows)

    assert found == pytest.approx((student.low, student.high), abs=0.05)


@pytest.mark.parametrize("n", [BOOTSTRAP_MINIMUM_VALUES, 10])
def test_bootstrap_intervals_cover_the_mean_as_often_as_they_say(n: int) -> None:
    samples = np.random.default_rng(n).normal(10, 1, (1000, n))
    held = sum(low <= 10 <= high for low, high in map(_bootstrap, samples.tolist()))

    assert 0.925 < held / 1000 < 0.975


def test_the_bootstrap_is_told_again_with_the_same_seed_and_serves_any_statistic() -> None:
    values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]

    found = bootstrap_interval(values, lambda rows: np.median(rows, axis=-1), 0.9, seed=5)

    assert found == bootstrap_interval(values, lambda rows: np.median(rows, axis=-1), 0.9, seed=5)
    assert found is not None
    assert 1.0 <= found[0] <= 8.0 <= found[1] <= 64.0


def test_a_single_value_cannot_be_resampled() -> None:
    assert bootstrap_interval([3.0], mean_of_rows) is None


def _lognormal(trials: int, n: int, deviation: float) -> NDArray[np.float64]:
    sigma = np.sqrt(np.log(1 + deviation**2))
    return np.exp(np.random.default_rng(n).normal(-(sigma**2) / 2, sigma, (trials, n)))


def _coverage(values: NDArray[np.float64], mean: float) -> float:
    """The share of rows whose interval, as the summary gives it, holds the mean."""
    trials, n = values.shape
    runs = pl.DataFrame(
        {
            "scenario": np.repeat(np.arange(trials), n).astype(str),
            "verdict": ["finished"] * values.size,
            "train_seconds": values.ravel(),
        }
    )
    table = summarise(runs, [], ["train_seconds"])
    assert table.select((pl.col("ci_low") > 0).all()).item()
    held: float = table.select(pl.lit(mean).is_between("ci_low", "ci_high").mean()).item()
    return held


def _bootstrap(values: list[float]) -> tuple[float, float]:
    interval = bootstrap_interval(values, mean_of_rows)
    assert interval is not None
    return interval
