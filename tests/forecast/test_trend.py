"""Trends: what a few runs teach of costs and powers."""

from __future__ import annotations

import numpy as np
import pytest

from prumo.forecast.learned_time import product_of_powers, sum_of_costs


def test_exact_costs_are_found_again() -> None:
    sizes = np.array([[1.0, 2.0], [1.0, 50.0], [4.0, 10.0], [9.0, 1.0]])
    trend = sum_of_costs(sizes, sizes @ np.array([0.5, 0.03]))

    new = np.array([[2.0, 1000.0]])

    assert np.exp(trend.predict(new).log_seconds) == pytest.approx([1.0 + 30.0])


def test_no_cost_is_ever_negative() -> None:
    # The second size only seems to save time.
    sizes = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    trend = sum_of_costs(sizes, np.array([1.0, 2.2, 3.3]))

    assert (trend.costs >= 0).all()
    assert trend.predict(np.array([[0.0, 5.0]])).log_seconds[0] < np.log(1.0)


def test_runs_count_alike_whether_short_or_long() -> None:
    sizes = np.array([[1.0], [1000.0]])
    trend = sum_of_costs(sizes, np.array([2.0, 1000.0]))

    # In the middle of a factor of two, and not at the long run's.
    assert 1.2 < float(np.exp(trend.predict(np.array([[1.0]])).log_seconds[0])) < 1.8


def test_a_case_far_from_the_measured_ones_is_known_worse() -> None:
    sizes = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0], [1.0, 4.0]])
    trend = sum_of_costs(sizes, sizes @ np.array([5.0, 1.0]))
    covariance = trend.covariance(trend.predict(sizes).sensitivities, 1.0)

    near, far = trend.predict(np.array([[1.0, 2.5], [1.0, 200.0]])).sensitivities

    assert far @ covariance @ far > 3 * near @ covariance @ near


def test_a_power_law_is_followed_beyond_the_measured_sizes() -> None:
    sizes = np.array([[1.0, np.log(size)] for size in (1.0, 2.0, 4.0, 8.0)])
    trend = product_of_powers(sizes, np.array([False, False]), np.array([3.0, 6.0, 12.0, 24.0]))

    predicted = np.exp(trend.predict(np.array([[1.0, np.log(16.0)]])).log_seconds)

    assert predicted == pytest.approx([48.0], rel=0.05)


def test_a_level_that_was_never_seen_is_hardly_known() -> None:
    # Columns: constant, level x, level y; only x was measured.
    sizes = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    trend = product_of_powers(sizes, np.array([False, True, True]), np.array([2.0, 2.0]))
    covariance = trend.covariance(sizes, 0.01)

    seen, unseen = np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0])

    assert seen @ covariance @ seen < 0.02
    assert unseen @ covariance @ unseen > 0.4
