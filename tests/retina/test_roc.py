"""The area under the ROC curve and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from prumo.errors import DataError
from prumo_retina.judge.measures import auc, roc_curve

if TYPE_CHECKING:
    from prumo_serve.estimates import Estimate

# Hanley and McNeil (1982), Radiology 143(1), table I: ratings of CT images, 58 normal, 51 abnormal.
RATINGS = np.arange(1, 6) / 5
NORMAL, ABNORMAL = (33, 6, 6, 11, 2), (3, 2, 2, 11, 33)
CT_RATINGS = np.concatenate([np.repeat(RATINGS, NORMAL), np.repeat(RATINGS, ABNORMAL)])
CT_TRUTH = np.repeat([False, True], [58, 51])


def test_a_published_table_of_ratings_has_its_published_area() -> None:
    assert auc(CT_RATINGS, CT_TRUTH).value == pytest.approx(0.893, abs=5e-4)


def test_the_area_is_that_of_the_roc_curve_also_with_ties() -> None:
    curve = roc_curve(CT_RATINGS, CT_TRUTH)

    assert np.trapezoid(curve.sensitivity, curve.false_alarms) == pytest.approx(
        auc(CT_RATINGS, CT_TRUTH).value
    )
    assert (curve.sensitivity[0], curve.false_alarms[0]) == (0, 0)
    assert (curve.sensitivity[-1], curve.false_alarms[-1]) == (1, 1)
    assert curve.sensitivity[1] == pytest.approx(33 / 51)
    assert curve.false_alarms[1] == pytest.approx(2 / 58)


def test_the_interval_is_delongs_on_the_scale_of_the_logit() -> None:
    found = auc(CT_RATINGS, CT_TRUTH)
    # DeLong's variance by its definition, pair by pair.
    wins = (CT_RATINGS[CT_TRUTH][:, None] > CT_RATINGS[~CT_TRUTH]) + 0.5 * (
        CT_RATINGS[CT_TRUTH][:, None] == CT_RATINGS[~CT_TRUTH]
    )
    variance = wins.mean(axis=1).var(ddof=1) / 51 + wins.mean(axis=0).var(ddof=1) / 58
    area = wins.mean()
    half = 1.959964 * np.sqrt(variance) / (area * (1 - area))
    expected = 1 / (1 + np.exp(-(np.log(area / (1 - area)) + np.array([-half, half]))))

    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-6)
    assert found.n == 109


def test_both_eyes_of_a_patient_widen_the_interval_as_a_bootstrap_of_patients_does() -> None:
    random = np.random.default_rng(3)
    truth = random.random(150) < 0.5
    signal = random.normal(size=150) + truth
    eyes = np.repeat(signal, 2) + random.normal(scale=0.2, size=300)
    probability, referable = 1 / (1 + np.exp(-eyes)), np.repeat(truth, 2)
    patients = [f"P{number // 2}" for number in range(300)]

    blind, aware = auc(probability, referable), auc(probability, referable, patients)

    areas = []
    for _ in range(1000):
        chosen = random.integers(0, 150, size=150)
        places = np.concatenate([2 * chosen, 2 * chosen + 1])
        curve = roc_curve(probability[places], referable[places])
        areas.append(np.trapezoid(curve.sensitivity, curve.false_alarms))
    assert aware.value == blind.value
    assert _width(aware) > 1.3 * _width(blind)
    assert _width(aware) == pytest.approx(np.ptp(np.quantile(areas, [0.025, 0.975])), rel=0.12)


def test_patients_with_one_photograph_each_change_nothing() -> None:
    patients = [f"P{number}" for number in range(109)]
    blind, aware = auc(CT_RATINGS, CT_TRUTH), auc(CT_RATINGS, CT_TRUTH, patients)

    assert (aware.low, aware.high) == pytest.approx((blind.low, blind.high))


def test_photographs_without_a_patient_stand_for_themselves() -> None:
    blind, aware = auc(CT_RATINGS, CT_TRUTH), auc(CT_RATINGS, CT_TRUTH, [""] * 109)

    assert (aware.low, aware.high) == pytest.approx((blind.low, blind.high))


def test_a_perfect_area_of_few_photographs_is_not_sure() -> None:
    found = auc([0.1, 0.2, 0.3, 0.8, 0.9], [False, False, False, True, True])

    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low is not None
    assert found.low < 0.5


def test_scores_that_are_all_alike_leave_a_wide_interval() -> None:
    found = auc([0.4] * 8, [False, True] * 4)

    assert found.value == 0.5
    assert (found.low, found.high) == pytest.approx((0.150, 0.850), abs=5e-4)


@pytest.mark.parametrize("count", range(2, 30))
def test_eyes_that_make_up_for_each_other_in_every_patient_leave_an_interval(count: int) -> None:
    probability = np.repeat(np.arange(count) / count, 2)
    patients = [f"P{number // 2}" for number in range(2 * count)]

    found = auc(probability, [False, True] * count, patients)

    assert found.value == pytest.approx(0.5)
    # Nothing varies between such patients, which does not make so few of them sure.
    assert _width(found) > 1 / count**0.5


def test_a_class_of_one_photograph_has_an_area_but_no_interval() -> None:
    found = auc([0.1, 0.8, 0.3, 0.5], [False, False, False, True])

    assert found.value == pytest.approx(2 / 3)
    assert (found.low, found.high) == (None, None)


def test_the_interval_holds_the_true_area_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    truth = np.repeat([False, True], [60, 30])
    # Normal scores one and a half deviations apart: the area is Phi(1.5 / sqrt 2).
    true_area = 0.8555778
    hits = 0
    for _ in range(800):
        scores = random.normal(size=90) + 1.5 * truth
        found = auc(1 / (1 + np.exp(-scores)), truth)
        hits += (found.low or 0) <= true_area <= (found.high or 1)

    assert 0.925 <= hits / 800 <= 0.975


@pytest.mark.parametrize(
    ("referable", "words"),
    [
        ([True, True], "all 2 photographs are referable"),
        ([False, False], "none of the 2 photographs is referable"),
        ([True], "2 probabilities do not go with 1 grades"),
    ],
)
def test_what_cannot_be_judged_is_refused(referable: list[bool], words: str) -> None:
    with pytest.raises(DataError, match=words):
        auc([0.1, 0.2], referable)


def test_a_probability_that_is_none_is_refused() -> None:
    with pytest.raises(DataError, match="not a number"):
        auc([0.1, float("nan")], [True, False])


def _width(found: Estimate) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low
