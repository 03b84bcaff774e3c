"""Agreement of grades: the quadratic kappa, its interval, and the table behind it."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from prumo.errors import DataError
from prumo_retina.judge.measures import confusion, quadratic_kappa

TRUE = [0, 0, 0, 1, 1, 2, 2, 2, 3, 4]
TOLD = [0, 0, 1, 1, 2, 2, 2, 4, 3, 3]


def test_the_table_counts_true_grades_by_row() -> None:
    table = confusion(TRUE, TOLD)

    assert table.tolist() == [
        [2, 1, 0, 0, 0],
        [0, 1, 1, 0, 0],
        [0, 0, 2, 0, 1],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 1, 0],
    ]


def test_kappa_by_hand() -> None:
    true, told = np.array(TRUE), np.array(TOLD)
    observed = ((true - told) ** 2).sum() / 10
    expected = np.mean([(row - column) ** 2 for row in TRUE for column in TOLD])

    assert observed == 0.7  # one, one, four and one, of ten
    assert quadratic_kappa(TOLD, TRUE).value == pytest.approx(1 - 0.7 / expected)


def test_value_and_error_are_those_of_statsmodels() -> None:
    true, told = _agreeing(300)
    found = quadratic_kappa(told, true)

    other = cohens_kappa(confusion(true, told), wt="quadratic")
    assert found.value == pytest.approx(other.kappa)
    half = 1.959964 * other.std_kappa / (1 - other.kappa**2)
    expected = np.tanh(np.arctanh(other.kappa) + np.array([-half, half]))
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-3)


def test_both_eyes_of_a_patient_widen_the_interval() -> None:
    true, told = _agreeing(150)
    twice = np.repeat(told, 2), np.repeat(true, 2)
    aware = quadratic_kappa(*twice, np.arange(300) // 2)
    once, blind = quadratic_kappa(told, true), quadratic_kappa(*twice)

    assert (aware.low, aware.high) == pytest.approx((once.low, once.high))
    assert (blind.low or 0) > (aware.low or 0)


def test_the_interval_holds_the_true_kappa_about_as_often_as_it_says() -> None:
    true, told = _agreeing(200_000, seed=9)
    population = quadratic_kappa(told, true).value
    hits = 0
    for part in range(1000):
        chosen = slice(part * 150, (part + 1) * 150)
        found = quadratic_kappa(told[chosen], true[chosen])
        hits += (found.low or -1) <= population <= (found.high or 1)

    assert 0.925 <= hits / 1000 <= 0.975


def test_full_agreement_is_one_and_has_no_interval() -> None:
    found = quadratic_kappa(TRUE, TRUE)

    assert (found.value, found.low, found.high) == (1.0, None, None)


def test_grades_that_are_all_the_same_have_no_kappa() -> None:
    assert isnan(quadratic_kappa([2, 2], [2, 2]).value)
    assert isnan(quadratic_kappa([], []).value)


@pytest.mark.parametrize("wrong", [5, -1, 1.5])
def test_what_is_no_grade_is_refused(wrong: float) -> None:
    with pytest.raises(DataError, match="is no grade: grades go from 0 to 4"):
        quadratic_kappa([wrong, 1], [0, 1])


def test_lists_of_different_length_are_refused() -> None:
    with pytest.raises(DataError, match="3 grades were given for 2 true ones"):
        quadratic_kappa([0, 1, 2], [0, 1])


def _agreeing(count: int, seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    true = random.choice(5, size=count, p=(0.4, 0.1, 0.25, 0.15, 0.1))
    told = np.clip(np.rint(true + random.normal(scale=0.8, size=count)), 0, 4).astype(int)
    return true, told
