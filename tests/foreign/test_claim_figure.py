from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from prumo.foreign.claim_figures import (
    Group,
    mean_figure,
    order_figure,
    ratio_figure,
    single_figure,
    spread_figure,
    spread_ratio_figure,
)
from prumo.results.record import Spread
from prumo.statistics.interval import mean_interval, ratio_of

ONE = Group("C1", {}, (9.0, 10.0, 11.0))
OTHER = Group("C2", {}, (4.0, 5.0, 6.0))


def test_the_mean_of_one_group_has_student_s_interval() -> None:
    found = mean_figure([ONE], 0.95)
    low, high = stats.t.interval(0.95, 2, loc=10, scale=1 / 3**0.5)
    assert [found.value, found.low, found.high] == pytest.approx([10, low, high])


def test_several_groups_weigh_the_same() -> None:
    larger = Group("C3", {}, (20.0,) * 100)
    assert mean_figure([ONE, larger], 0.95).value == 15


def test_a_single_value_leaves_no_interval() -> None:
    single = Group("C1", {}, (3.0,))
    for found in (mean_figure([single], 0.95), ratio_figure([(ONE, single)], 0.95)):
        assert found is not None
        assert found.low is None


def test_a_ratio_is_of_arithmetic_means_and_its_inverse_is_the_other_way_round() -> None:
    found, other = ratio_figure([(ONE, OTHER)], 0.95), ratio_figure([(OTHER, ONE)], 0.95)
    assert found is not None
    assert other is not None
    assert found.value == pytest.approx(2)
    assert found.low == pytest.approx(1 / (other.high or 0))


def test_the_interval_of_a_ratio_covers_the_true_one_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    ones = generator.normal(20, 2, size=(2000, 8))
    others = generator.normal(10, 1, size=(2000, 8))
    covered = 0
    for one, other in zip(ones, others, strict=True):
        pair = (Group("C1", {}, tuple(one)), Group("C2", {}, tuple(other)))
        found = ratio_figure([pair], 0.95)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 2 <= found.high
    assert 0.93 <= covered / 2000 <= 0.97


def test_the_ratio_of_several_pairs_is_their_geometric_mean() -> None:
    eight = Group("C3", {}, (79.0, 80.0, 81.0))
    found = ratio_figure([(ONE, OTHER), (eight, ONE)], 0.95)
    assert found is not None
    assert found.value == pytest.approx(4)
    assert found.parts == pytest.approx((2, 8))


def test_there_is_no_ratio_of_means_that_are_not_positive() -> None:
    assert ratio_figure([(ONE, Group("C2", {}, (-1.0, 1.0)))], 0.95) is None


def test_the_mean_of_an_amount_is_above_zero() -> None:
    wide = Group("C1", {}, (0.0, 1.0, 20.0))
    low = mean_figure([wide], 0.95, is_amount=True).low
    assert low == mean_interval(wide.values, 0.95, is_amount=True).low
    assert low is not None
    assert low > 0
    assert (mean_figure([wide], 0.95).low or 0) < 0


def test_values_that_are_not_positive_leave_open_how_sure_a_ratio_is() -> None:
    pairs = [(ONE, Group("C2", {}, (-999.0, 1001.0)))]
    found = ratio_figure(pairs, 0.95)
    assert found is not None
    assert found.value == pytest.approx(10)
    assert (found.low, found.high) == (None, None)
    assert order_figure(pairs, 0.95) is None


def test_a_ratio_of_arithmetic_means_is_as_sure_as_that_of_geometric_means() -> None:
    wide = Group("C3", {}, (1.0, 10.0, 100.0))
    found, compared = ratio_figure([(wide, OTHER)], 0.95), ratio_of(wide.values, OTHER.values)
    assert found is not None
    assert found.value == pytest.approx(37 / 5)
    assert (found.low, found.high) == (compared.low, compared.high)


def test_a_published_summary_is_about_as_sure_of_a_ratio_as_its_runs() -> None:
    values = tuple(np.random.default_rng(5).lognormal(2, 0.5, 400))
    runs = Group("C1", {}, values)
    spread = Spread(n=400, standard_deviation=runs.standard_deviation)
    found = order_figure([(Group("C1", {}, (runs.mean,), spread), OTHER)], 0.95)
    expected = order_figure([(runs, OTHER)], 0.95)
    assert found is not None
    assert expected is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=0.03)


@pytest.mark.parametrize(("sigma", "pairs"), [(1.0, 8), (0.1, 1)])
def test_equal_sides_are_ordered_no_oftener_than_the_confidence_allows(
    sigma: float, pairs: int
) -> None:
    trials, runs = 1000, 3
    drawn = np.random.default_rng(3).lognormal(0, sigma, size=(trials, 2, pairs, runs))
    false = 0
    for one, other in drawn.tolist():
        groups = [
            (Group("C1", {}, tuple(mine)), Group("C2", {}, tuple(theirs)))
            for mine, theirs in zip(one, other, strict=True)
        ]
        found = order_figure(groups, 0.95)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        false += not found.low <= 1 <= found.high
    assert false / trials <= 0.05 + 4 * (0.05 * 0.95 / trials) ** 0.5


def test_a_standard_deviation_has_its_chi_square_interval() -> None:
    values = (1.0, 2.0, 3.0, 4.0, 5.0)
    found = spread_figure(Group("C1", {}, values), 0.95, population=False)
    assert found is not None
    assert found.value == pytest.approx(np.std(values, ddof=1))
    assert found.low == pytest.approx(found.value * (4 / stats.chi2.ppf(0.975, 4)) ** 0.5)
    assert found.high == pytest.approx(found.value * (4 / stats.chi2.ppf(0.025, 4)) ** 0.5)


def test_the_interval_of_a_ratio_of_spreads_covers_the_true_one_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    ones = generator.normal(20, 2, size=(2000, 10))
    others = generator.normal(10, 1, size=(2000, 6))
    covered = 0
    for one, other in zip(ones, others, strict=True):
        sides = (Group("C1", {}, tuple(one)), Group("C2", {}, tuple(other)))
        found = spread_ratio_figure(*sides, 0.95)
        assert found is not None
        assert found.value == pytest.approx(np.std(one, ddof=1) / np.std(other, ddof=1))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 2 <= found.high
    assert covered / 2000 == pytest.approx(0.95, abs=0.015)


def test_a_population_s_standard_deviation_divides_by_n() -> None:
    values = (1.0, 2.0, 3.0, 4.0, 5.0)
    found = spread_figure(Group("C1", {}, values), 0.95, population=True)
    assert found is not None
    assert found.value == pytest.approx(np.std(values))


def test_a_published_summary_gives_the_interval_that_its_runs_would() -> None:
    summary = Group("C1", {}, (10.0,), Spread(n=3, standard_deviation=1.0))
    assert mean_figure([summary], 0.95).low == pytest.approx(mean_figure([ONE], 0.95).low)
    assert single_figure(summary, "median") is None
    assert spread_figure(summary, 0.95, population=False) == spread_figure(
        ONE, 0.95, population=False
    )


def test_a_summary_without_n_has_no_interval() -> None:
    summary = Group("C1", {}, (10.0,), Spread(standard_deviation=1.0))
    assert mean_figure([summary], 0.95).low is None
    assert spread_figure(summary, 0.95, population=True) is None
