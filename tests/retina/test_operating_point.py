"""Named thresholds: how they are chosen, and by whom they may not be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import norm

from prumo.errors import DataError
from prumo_retina.grade import DEFAULT_POINT, REFERABLE_FROM
from prumo_retina.judge.calibration import (
    allowed_misses,
    chosen_points,
    cross_fitted_decisions,
    fixed_decisions,
)
from prumo_retina.judge.measures import grades_of, scores_of
from prumo_serve.estimates import rate
from support.judged_cases import grade_cases, referral_cases

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from prumo_retina.model import OperatingPoint


def _points(probability: ArrayLike, referable: ArrayLike) -> dict[str, OperatingPoint]:
    found = chosen_points(probability, referable, "validation")
    return {point.name: point for point in found}


def test_each_point_is_the_best_of_all_thresholds_by_its_rule() -> None:
    random = np.random.default_rng(2)
    truth = random.random(300) < 0.4
    # Rounded, so that there are ties.
    probability = np.round(1 / (1 + np.exp(-random.normal(size=300) - 1.5 * truth)), 2)
    points = _points(probability, truth)

    tried = np.linspace(0, 1, 2001)
    sensitivity = np.array([np.mean(probability[truth] >= at) for at in tried])
    specificity = np.array([np.mean(probability[~truth] < at) for at in tried])
    sensitive = (1 - sensitivity) * truth.sum() < allowed_misses(truth.sum()) + 0.5
    specific = (1 - specificity) * (~truth).sum() < allowed_misses((~truth).sum()) + 0.5
    assert points["high_sensitivity"].sensitivity >= 0.95
    assert points["high_sensitivity"].specificity == specificity[sensitive].max()
    assert points["high_specificity"].specificity >= 0.95
    assert points["high_specificity"].sensitivity == sensitivity[specific].max()
    balanced = points["balanced"]
    assert balanced.sensitivity + balanced.specificity == pytest.approx(
        (sensitivity + specificity).max()
    )


def test_a_point_has_the_rates_that_its_threshold_gives() -> None:
    cases = referral_cases(200)
    truth = np.array([case.is_referable for case in cases])
    probability = 1 / (1 + np.exp(-scores_of(cases)[:, 0]))

    for point in chosen_points(probability, truth, "validation"):
        referred = np.asarray(probability) >= point.threshold
        assert rate(referred[truth]).value == pytest.approx(point.sensitivity)
        assert rate(~referred[~truth]).value == pytest.approx(point.specificity)
        assert point.chosen_on == "validation"


def test_sensitivity_comes_first() -> None:
    assert DEFAULT_POINT == "high_sensitivity"


def test_classes_that_are_apart_are_cut_halfway_and_nobody_is_missed() -> None:
    points = _points([0.1, 0.2, *[0.8] * 50], [0, 0, *[1] * 50])

    assert {point.threshold for point in points.values()} == {0.5}
    assert {point.sensitivity for point in points.values()} == {1.0}


@pytest.mark.parametrize(
    ("count", "misses"), [(1, 0), (18, 0), (19, 0), (38, 0), (39, 1), (59, 2), (99, 4), (999, 49)]
)
def test_few_photographs_may_miss_less_than_a_twentieth(count: int, misses: int) -> None:
    assert allowed_misses(count) == misses


def test_new_photographs_are_found_as_often_as_promised() -> None:
    random = np.random.default_rng(6)
    truth = np.repeat([True, False], [45, 45])
    found = []
    for _ in range(600):
        probability = 1 / (1 + np.exp(-random.normal(size=90) - 1.5 * truth))
        threshold = _points(probability, truth)["high_sensitivity"].threshold
        # The share of new referable photographs above it, whose logits are normal about 1.5.
        found.append(1 - norm.cdf(np.log(threshold / (1 - threshold)) - 1.5))

    assert 0.95 <= np.mean(found) <= 0.97


def test_a_model_that_says_the_same_of_all_refers_all_or_nobody() -> None:
    points = _points([0.3] * 4, [0, 0, 0, 1])

    assert points["high_sensitivity"].threshold <= 0.3
    assert points["high_specificity"].threshold > 0.3


def test_a_specificity_out_of_reach_is_said_in_the_rule() -> None:
    point = _points([1.0, 1.0, 0.0], [0, 1, 0])["high_specificity"]

    assert point.specificity == 0.5
    assert "out of reach" in point.rule


def test_too_few_photographs_promise_nothing_in_the_rule() -> None:
    few = chosen_points(np.linspace(0, 1, 36), np.arange(36) >= 18, "validation")
    enough = chosen_points(np.linspace(0, 1, 38), np.arange(38) >= 19, "validation")

    assert few[0].rule.startswith("none missed, as too few are referable to expect 0.95")
    assert few[2].rule.startswith("no false alarm, as too few are not referable to expect 0.95")
    assert enough[0].rule.startswith("expected sensitivity at least 0.95")
    assert enough[2].rule.startswith("expected specificity at least 0.95")


def test_a_set_of_one_class_cannot_choose() -> None:
    with pytest.raises(DataError, match="choosing thresholds on the validation photographs needs"):
        _points([0.1, 0.2], [1, 1])
    with pytest.raises(DataError, match="no photographs with a grade"):
        _points([], [])


def test_a_photograph_has_no_say_in_its_own_threshold_and_temperature() -> None:
    cases = grade_cases(100)
    scores, grades = scores_of(cases), grades_of(cases)
    folds = [case.fold for case in cases]
    before = cross_fitted_decisions(scores, grades, folds, "grade")

    inside = np.array(folds) == "fold-2"
    turned = np.where(inside, 4 - grades, grades)
    after = cross_fitted_decisions(scores, turned, folds, "grade")

    assert np.array_equal(before.probability[inside], after.probability[inside])
    for point, thresholds in before.threshold.items():
        assert np.array_equal(thresholds[inside], after.threshold[point][inside])
        assert len(np.unique(thresholds[inside])) == 1
    assert not np.array_equal(before.probability[~inside], after.probability[~inside])


def test_cross_fitted_points_are_a_little_worse_than_those_chosen_on_what_they_judge() -> None:
    cases = grade_cases(400)
    scores, grades = scores_of(cases), grades_of(cases)
    truth = grades >= REFERABLE_FROM
    crossed = cross_fitted_decisions(scores, grades, [case.fold for case in cases], "grade")
    points = chosen_points(crossed.probability, truth, "itself")
    itself = fixed_decisions(scores, "grade", 1.0, points)

    assert set(crossed.threshold) == set(itself.threshold)
    honest = crossed.referred("balanced")
    best = crossed.probability >= points[1].threshold
    assert np.mean(honest == truth) == pytest.approx(np.mean(best == truth), abs=0.05)


def test_one_fold_alone_cannot_be_cross_fitted() -> None:
    with pytest.raises(DataError, match="only one fold"):
        cross_fitted_decisions(np.zeros((2, 1)), np.array([0, 2]), ["fold-1", "fold-1"], "referral")
