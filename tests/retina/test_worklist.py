"""Urgency and the order of a worklist."""

from __future__ import annotations

from pathlib import Path

import pytest

from prumo_retina.fundus.preparation import Quality, Verdict
from prumo_retina.grade import Urgency, urgency_of
from prumo_retina.prediction import Prediction
from prumo_retina.prediction.report import worklist


@pytest.mark.parametrize(
    ("grades", "urgency"),
    [
        ((0.7, 0.1, 0.1, 0.1, 0.0), Urgency.REFER),
        ((0.0, 0.0, 0.6, 0.3, 0.1), Urgency.REFER),
        ((0.0, 0.0, 0.45, 0.25, 0.3), Urgency.URGENT),
        ((0.2, 0.2, 0.2, 0.3, 0.1), Urgency.URGENT),
        ((0.0, 0.0, 0.0, 0.0, 1.0), Urgency.URGENT),
        ((), Urgency.REFER),
    ],
)
def test_a_referral_is_urgent_where_severe_or_proliferative_is_likely(
    grades: tuple[float, ...], urgency: Urgency
) -> None:
    assert urgency_of(refer=True, grade_probabilities=grades) is urgency


def test_what_is_not_referred_is_never_urgent() -> None:
    assert urgency_of(refer=False, grade_probabilities=(0, 0, 0, 0, 1)) is Urgency.NONE


def test_a_worklist_goes_from_urgent_to_no_referral() -> None:
    given = [
        judged("healthy", 0.1, (0.8, 0.1, 0.1, 0.0, 0.0)),
        judged("moderate", 0.8, (0.1, 0.1, 0.7, 0.1, 0.0)),
        ungradable("dark"),
        judged("severe", 0.99, (0.0, 0.01, 0.39, 0.6, 0.0)),
        judged("almost", 0.25, (0.5, 0.25, 0.25, 0.0, 0.0)),
        judged("surely moderate", 0.97, (0.0, 0.03, 0.9, 0.07, 0.0)),
        judged("proliferative", 0.9, (0.05, 0.05, 0.0, 0.1, 0.8)),
        ungradable("blurred"),
    ]
    assert [item.file.name for item in worklist(given)] == [
        "proliferative",
        "severe",
        "dark",
        "blurred",
        "surely moderate",
        "moderate",
        "almost",
        "healthy",
    ]


def test_without_grades_referrals_go_by_their_probability() -> None:
    given = [judged("b", 0.5, ()), judged("c", 0.1, ()), judged("a", 0.9, ()), ungradable("u")]
    assert [item.file.name for item in worklist(given)] == ["u", "a", "b", "c"]


def judged(name: str, probability: float, grades: tuple[float, ...]) -> Prediction:
    refer = probability >= 0.3
    return Prediction(
        Path(name),
        "",
        Quality(Verdict.GOOD),
        refer,
        urgency_of(refer, grades),
        probability,
        grades,
    )


def ungradable(name: str) -> Prediction:
    quality = Quality(Verdict.BLURRED, "no detail")
    return Prediction(Path(name), "", quality, refer=True, urgency=Urgency.UNGRADABLE)
