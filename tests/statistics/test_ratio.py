from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import digamma

from prumo.statistics.interval import (
    BOOTSTRAP_MINIMUM_VALUES,
    Ratio,
    bootstrap_ratio,
    geometric_mean,
    mean_ratio,
    ratio_of,
)

FAST = [10.0, 10.4, 9.7]
SLOW = [20.0, 21.5, 19.0, 20.3]

samples = st.lists(st.floats(0.1, 1e4), min_size=2, max_size=12, unique=True)


def test_the_mean_of_ratios_does_not_depend_on_which_way_they_are_taken() -> None:
    # Fleming and Wallace (1986): with the arithmetic mean, each machine would look the slower one.
    ratios = [2.0, 0.5]

    assert geometric_mean(ratios).value == pytest.approx(1)
    assert geometric_mean([1 / ratio for ratio in ratios]).value == pytest.approx(1)


def test_the_interval_of_a_geometric_mean_is_students_on_logarithms() -> None:
    found = geometric_mean(SLOW, 0.9)
    logs = np.log(SLOW)
    low, high = stats.t.interval(0.9, len(SLOW) - 1, loc=logs.mean(), scale=stats.sem(logs))

    assert found.value == pytest.approx(stats.gmean(SLOW))
    assert (found.low, found.high) == pytest.approx((exp(low), exp(high)))


@given(values=samples, others=samples, confidence=st.sampled_from([0.8, 0.95, 0.99]))
def test_a_ratio_has_the_interval_and_the_test_of_welch_on_logarithms(
    values: list[float], others: list[float], confidence: float
) -> None:
    found = ratio_of(values, others, confidence)
    welch = stats.ttest_ind(np.log(values), np.log(others), equal_var=False)
    interval = welch.confidence_interval(confidence)

    assert found.low is not None
    assert found.high is not None
    assert (log(found.low), log(found.high)) == pytest.approx(
        (interval.low, interval.high), rel=1e-6, abs=1e-6
    )
    assert found.p_value == pytest.approx(welch.pvalue, rel=1e-6, abs=1e-9)


def test_seen_from_the_other_side_a_ratio_is_its_inverse() -> None:
    one, other = ratio_of(FAST, SLOW).inverse, ratio_of(SLOW, FAST)

    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))
    assert Ratio(4.0).inverse == Ratio(0.25)


def test_single_values_have_a_ratio_and_no_interval() -> None:
    assert ratio_of([3.0], [2.0]).value == pytest.approx(1.5)
    assert ratio_of([3.0], [2.0]).high is None
    assert geometric_mean([3.0]).low is None


def test_pairs_of_single_values_have_the_interval_of_the_paired_test() -> None:
    mine, theirs = [3.0, 5.0, 9.0, 20.0], [2.0, 4.5, 6.0, 15.0]
    found = mean_ratio([([one], [other]) for one, other in zip(mine, theirs, strict=True)])
    paired = stats.ttest_rel(np.log(mine), np.log(theirs))

    assert found.p_value == pytest.approx(paired.pvalue)
    assert found.low == pytest.approx(exp(paired.confidence_interval().low))


def test_values_that_repeat_exactly_are_told_apart_exactly() -> None:
    assert ratio_of([2.0, 2.0], [1.0, 1.0]) == Ratio(2.0, 2.0, 2.0, 0.0)
    assert ratio_of([0.1, 0.1, 0.1], [0.1, 0.1]).p_value == 1.0


def test_rounding_is_no_difference() -> None:
    # The logarithms of 6/2 and 1/3 add up to -1e-16.
    found = mean_ratio([([6.0, 6.0], [2.0, 2.0]), ([1.0, 1.0], [3.0, 3.0])])

    assert found == Ratio(1.0, 1.0, 1.0, 1.0)


def test_single_values_with_one_and_the_same_ratio_are_not_sure_of_it() -> None:
    found = mean_ratio([([0.3], [0.1]), ([0.6], [0.2]), ([2.4], [0.8])])

    assert found.value == pytest.approx(3)
    assert (found.low, found.high, found.p_value) == (None, None, None)


def test_an_interval_wider_than_numbers_go_ends_where_they_do() -> None:
    found = ratio_of([1.0, 1e100], [1.0, 1e-100], 0.999)

    assert found.low is not None
    assert 0 < found.low < 1e-300
    assert found.inverse.high == pytest.approx(1 / found.low)


def test_the_mean_of_several_ratios_weighs_every_pair_the_same() -> None:
    found = mean_ratio([(FAST, SLOW), (SLOW * 3, SLOW)])

    assert found.value == pytest.approx((stats.gmean(FAST) / stats.gmean(SLOW)) ** 0.5)


@pytest.mark.parametrize(("runs", "pairs"), [(3, 1), (5, 1), (5, 3)])
def test_95_of_100_intervals_of_a_ratio_hold_the_true_one(runs: int, pairs: int) -> None:
    source = np.random.default_rng(runs + pairs)
    trials = 2000
    mine = source.lognormal(log(1.5), 0.05, size=(trials, pairs, runs))
    theirs = source.lognormal(0, 0.1, size=(trials, pairs, runs))
    held = 0
    for one, other in zip(mine.tolist(), theirs.tolist(), strict=True):
        found = mean_ratio(list(zip(one, other, strict=True)))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1.5 <= found.high

    assert 0.93 <= held / trials <= 0.97


def test_the_bootstrap_agrees_with_students_interval_where_both_hold() -> None:
    source = np.random.default_rng(4)
    pairs = [(source.lognormal(0.2, 0.1, 40).tolist(), source.lognormal(0, 0.2, 40).tolist())]
    expected = mean_ratio(pairs)

    assert bootstrap_ratio(pairs) == pytest.approx((expected.low, expected.high), rel=0.01)
    assert bootstrap_ratio(pairs) == bootstrap_ratio(pairs)


def test_95_of_100_intervals_by_the_bootstrap_hold_the_true_ratio() -> None:
    source = np.random.default_rng(8)
    trials = 400
    # One over the geometric mean of this gamma distribution.
    true = 50 / exp(digamma(50))
    held = 0
    for _ in range(trials):
        pair = (source.lognormal(0, 0.2, 10).tolist(), source.gamma(50, 1 / 50, 10).tolist())
        low, high = bootstrap_ratio([pair]) or (0.0, 0.0)
        held += low <= true <= high

    assert 0.93 <= held / trials <= 0.97


def test_a_handful_of_runs_is_too_few_for_the_bootstrap() -> None:
    few = FAST * 2
    assert len(few) < BOOTSTRAP_MINIMUM_VALUES
    assert bootstrap_ratio([(few, SLOW * 5)]) is None
