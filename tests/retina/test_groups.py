"""A model judged as a whole, and camera by camera."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from prumo.errors import DataError
from prumo_retina.judge import Judgement, judged
from prumo_retina.judge.calibration import fixed_decisions
from prumo_retina.judge.measures import Case, auc, grades_of, scores_of
from prumo_retina.model import OperatingPoint
from support.judged_cases import grade_cases

POINT = OperatingPoint(
    name="balanced",
    threshold=0.5,
    rule="greatest sum of sensitivity and specificity",
    chosen_on="validation",
    sensitivity=0.9,
    specificity=0.9,
)


def _judged(cases: list[Case]) -> Judgement:
    scores = scores_of(cases)
    return judged(
        cases, fixed_decisions(scores, "grade", 1.0, [POINT]), "grade", [POINT], "balanced"
    )


def test_every_camera_has_its_own_figures_the_largest_first() -> None:
    cases = grade_cases(300)
    table = next(table for table in _judged(cases).groups if table.column == "camera")

    assert [group.name for group in table.groups] == ["Canon", "Topcon", "Kowa"]
    assert sum(group.photographs for group in table.groups) == 300
    topcon = [case for case in cases if case.camera == "Topcon"]
    decisions = fixed_decisions(scores_of(topcon), "grade", 1.0, [POINT])
    expected = auc(decisions.probability, [case.is_referable for case in topcon])
    assert table.groups[1].auc == expected
    assert table.groups[1].rates.sensitivity.n == sum(case.is_referable for case in topcon)


def test_a_small_group_is_shown_and_said_to_be_small() -> None:
    cases = [
        *grade_cases(100),
        Case("new-1", 0, (5.0, 0, 0, 0, 0), camera="Zeiss", fold="fold-1"),
    ]
    table = next(table for table in _judged(cases).groups if table.column == "camera")

    zeiss = table.groups[-1]
    assert (zeiss.name, zeiss.photographs, zeiss.is_small, zeiss.auc) == ("Zeiss", 1, True, None)
    assert zeiss.rates.specificity.value == 1.0
    assert not table.groups[0].is_small


def test_photographs_of_an_unknown_camera_are_a_group_too() -> None:
    cases = [
        replace(case, camera="" if case.camera == "Kowa" else "Canon") for case in grade_cases(90)
    ]

    tables = {table.column: table.groups for table in _judged(cases).groups}

    assert {group.name for group in tables["camera"]} == {"Canon", ""}


def test_a_column_that_tells_nothing_apart_has_no_table() -> None:
    cases = [replace(case, camera="Canon", fold="") for case in grade_cases(50)]

    assert _judged(cases).groups == ()


def test_folds_hold_only_what_was_answered() -> None:
    answered, ungradable = grade_cases(100), grade_cases(4, ungradable=4)
    cases = [*answered, *(replace(case, fold="") for case in ungradable)]
    table = next(table for table in _judged(cases).groups if table.column == "fold")

    assert len(table.groups) == 5
    assert sum(group.photographs for group in table.groups) == 100


def test_ungradable_photographs_count_as_referrals() -> None:
    cases = grade_cases(300, ungradable=30)
    referable = sum(case.is_referable for case in cases[:30])
    point = _judged(cases).points[0]

    found = point.gradable.sensitivity.value * point.gradable.sensitivity.n
    assert point.all.sensitivity.n == point.gradable.sensitivity.n + referable
    assert point.all.sensitivity.value * point.all.sensitivity.n == pytest.approx(found + referable)
    spared = point.gradable.specificity.value * point.gradable.specificity.n
    assert point.all.specificity.value * point.all.specificity.n == pytest.approx(spared)
    assert point.all.specificity.value < point.gradable.specificity.value
    assert _judged(cases).ungradable.value == 0.1


def test_grades_are_judged_by_the_most_likely_one() -> None:
    cases = grade_cases(300)
    judgement = _judged(cases)

    told = scores_of(cases).argmax(axis=1)
    assert judgement.grades is not None
    assert judgement.grades.accuracy.value == np.mean(told == grades_of(cases))
    assert judgement.grades.confusion.sum() == 300
    assert 0.6 < judgement.grades.kappa.value < 1


def test_patients_are_counted_and_widen_intervals() -> None:
    alone, paired = grade_cases(200), grade_cases(200, per_patient=2)

    assert _judged(alone).patients is None
    assert _judged(paired).patients == 100
    assert "patient" in _judged(paired).auc.method


def test_a_set_in_which_nothing_is_gradable_is_refused() -> None:
    with pytest.raises(DataError, match="no gradable photograph"):
        _judged(grade_cases(5, ungradable=5))
