"""Probabilities that mean what they say: temperature, Brier score, reliability."""

from __future__ import annotations

import numpy as np
import pytest

from prumo.errors import DataError
from prumo_retina.judge.calibration import calibration, fitted_temperature
from prumo_retina.judge.measures import grades_of, scores_of
from prumo_retina.scoring import referral_probability
from support.judged_cases import referral_cases


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_of_a_model_is_found(temperature: float) -> None:
    cases = referral_cases(20_000, temperature=temperature)

    found = fitted_temperature(scores_of(cases), grades_of(cases), "referral")

    assert found == pytest.approx(temperature, rel=0.04)


def test_the_temperature_of_five_grades_is_found() -> None:
    random = np.random.default_rng(1)
    logits = random.normal(size=(20_000, 5), scale=1.5)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    grades = (shares.cumsum(axis=1) < random.random((20_000, 1))).sum(axis=1)

    assert fitted_temperature(2.5 * logits, grades, "grade") == pytest.approx(2.5, rel=0.04)


def test_a_set_without_a_mistake_does_not_make_a_model_all_too_sure() -> None:
    scores = np.array([[-2.0], [-3.0], [2.5], [4.0]])

    found = fitted_temperature(scores, [0, 1, 2, 4], "referral")

    surest = referral_probability(scores, "referral", found).max()
    assert 0.8 < surest < 0.99


def test_the_fitted_temperature_mends_a_model_that_is_too_sure() -> None:
    cases = referral_cases(4000, temperature=4.0)
    scores, referable = scores_of(cases), [case.is_referable for case in cases]
    temperature = fitted_temperature(scores, grades_of(cases), "referral")

    before = calibration(referral_probability(scores, "referral"), referable)
    after = calibration(referral_probability(scores, "referral", temperature), referable)

    assert after.brier < before.brier
    assert after.expected_error < 0.03 < before.expected_error


def test_brier_and_expected_error_by_hand() -> None:
    found = calibration([0.2, 0.2, 0.8, 0.8], [False, True, True, True], bins=2)

    # (0.04 + 0.64 + 0.04 + 0.04) / 4; bins are off by |0.2 - 0.5| and |0.8 - 1|.
    assert found.brier == pytest.approx(0.19)
    assert found.expected_error == pytest.approx(0.25)
    assert [part.count for part in found.bins] == [2, 2]
    assert [part.share.value for part in found.bins] == [0.5, 1.0]


def test_bins_hold_all_photographs_and_equals_stay_together() -> None:
    random = np.random.default_rng(2)
    probability = np.round(random.random(97), 1)

    found = calibration(probability, random.random(97) < probability)

    assert sum(part.count for part in found.bins) == 97
    means = [part.mean_probability for part in found.bins]
    assert means == sorted(set(means))
    assert len(calibration([0.5] * 30, [True] * 30).bins) == 1


def test_calibrated_shares_lie_within_their_intervals_most_of_the_time() -> None:
    cases = referral_cases(5000)
    probability = referral_probability(scores_of(cases), "referral")
    found = calibration(probability, [case.is_referable for case in cases])

    inside = [
        (part.share.low or 0) <= part.mean_probability <= (part.share.high or 1)
        for part in found.bins
    ]
    assert sum(inside) >= 8


@pytest.mark.parametrize(
    ("scores", "grades", "words"),
    [
        ([[1.0], [2.0]], [0, 1], "all of one class"),
        ([[1.0], [float("inf")]], [0, 2], "infinite or not a number"),
        ([[1.0, 2.0], [0.0, 1.0]], [0, 2], r"do not fit the task referral on 2"),
        ([[1.0], [2.0]], [0, 7], "7 is no grade"),
    ],
)
def test_scores_that_cannot_be_calibrated_are_refused(
    scores: list[list[float]], grades: list[int], words: str
) -> None:
    with pytest.raises(DataError, match=words):
        fitted_temperature(scores, grades, "referral")


def test_photographs_of_one_patient_widen_the_intervals_of_bins() -> None:
    probability, referable = np.repeat([0.2, 0.8], 40), np.repeat([False, True, False, True], 20)
    patients = [f"P{number // 10}" for number in range(80)]

    blind, aware = (calibration(probability, referable, names) for names in (None, patients))

    for alone, together in zip(blind.bins, aware.bins, strict=True):
        assert (together.share.low or 0) < (alone.share.low or 0)


def test_nothing_has_no_calibration() -> None:
    with pytest.raises(DataError, match="at least one photograph"):
        calibration([], [])
