"""What a training says against its own model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prumo_retina.grade import DEFAULT_POINT, REFERABLE_FROM
from prumo_retina.judge.calibration import chosen_points
from prumo_retina.judge.measures import Case, grades_of, scores_of
from prumo_retina.scoring import referral_probability
from prumo_retina.training_folder import doubts
from support.made_evaluation import made_description

if TYPE_CHECKING:
    from collections.abc import Sequence

GRADES = [0] * 20 + [2] * 20


def test_a_model_that_tells_them_apart_is_not_doubted() -> None:
    assert _doubts(np.linspace(-4, 4, 40), GRADES) == []


def test_a_model_no_better_than_chance_is_told() -> None:
    (told,) = _doubts(np.tile([-2.0, 2.0, -1.0, 1.0], 10) + np.arange(40) * 1e-3, GRADES)
    assert told.startswith("AUC 0.625 (0.438 to 0.781)")
    assert "on validation: nothing shows yet" in told


def test_a_model_that_is_always_wrong_is_told_too() -> None:
    assert _doubts(np.linspace(4, -4, 40), GRADES)[0].startswith("AUC 0.000 (0.000 to ")


def test_eyes_of_few_patients_prove_less_than_as_many_patients() -> None:
    scores = np.arange(40) % 20 + np.repeat([0.0, 5.0], 20)
    patients = [f"P{number // 10}" for number in range(40)]
    assert _doubts(scores, GRADES) == []
    assert "nothing shows yet" in _doubts(scores, GRADES, patients)[0]


def test_too_few_photographs_of_a_kind_are_told() -> None:
    scores = np.linspace(-4, 4, 38)
    (told,) = _doubts(scores, GRADES[2:])
    assert told == (
        "thresholds were chosen on 18 non-referable photographs: fewer than 19 cannot promise a "
        "specificity of 0.95 on new ones"
    )
    (told,) = _doubts(scores, GRADES[:-2])
    assert told.startswith("thresholds were chosen on 18 referable photographs")


def test_a_default_point_that_refers_everybody_is_told() -> None:
    scores = np.linspace(-4, 4, 40)
    scores[-2:] = -5
    (told,) = _doubts(scores, GRADES)
    assert told.startswith("high_sensitivity, the default point, refers everybody")


def _doubts(
    scores: np.ndarray, grades: Sequence[int], patients: Sequence[str] | None = None
) -> list[str]:
    names = patients or [""] * len(grades)
    held_out = [
        Case(f"fundus-{number}", grade, (score,), patient)
        for number, (grade, score, patient) in enumerate(zip(grades, scores, names, strict=True))
    ]
    probability = referral_probability(scores_of(held_out), "referral", 1.0)
    points = chosen_points(probability, grades_of(held_out) >= REFERABLE_FROM, "validation")
    model = made_description("referral").model_copy(
        update={"points": points, "point": DEFAULT_POINT, "temperature": 1.0}
    )
    return list(doubts(model, held_out))
