"""What an operating point finds and what it spares, with and without ungradable photographs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo_retina.grade import Grade
from prumo_retina.judge.case import grades_of, patients_of
from prumo_serve.estimates import Estimate, rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prumo_retina.judge.case import Case
    from prumo_retina.model import OperatingPoint


@dataclass(frozen=True)
class Rates:
    """Sensitivity and specificity, and how often each of the two answers is right."""

    sensitivity: Estimate
    specificity: Estimate
    right_referrals: Estimate
    """Positive predictive value: at the prevalence of these photographs."""
    right_dismissals: Estimate
    """Negative predictive value: at the prevalence of these photographs."""


@dataclass(frozen=True)
class PointRates:
    """An operating point on photographs that it was not chosen on."""

    point: OperatingPoint
    gradable: Rates
    """Of the photographs that the model judged."""
    all: Rates
    """Of all, where those that nobody can judge are referred."""
    referred_by_grade: dict[int, Estimate]
    """Of the photographs that the model judged: which grades it misses, and which it sends."""


def point_rates(
    cases: Sequence[Case], referred: NDArray[np.bool_], point: OperatingPoint
) -> PointRates:
    """The rates of a point; `referred` is of the gradable cases, in their order."""
    gradable = [case for case in cases if case.is_gradable]
    everywhere = np.ones(len(cases), dtype=np.bool_)
    everywhere[[case.is_gradable for case in cases]] = referred
    return PointRates(
        point=point,
        gradable=rates(gradable, referred),
        all=rates(cases, everywhere),
        referred_by_grade=_referred_by_grade(gradable, referred),
    )


def rates(cases: Sequence[Case], referred: NDArray[np.bool_]) -> Rates:
    """Rates of cases that are referred or not."""
    referable = np.array([case.is_referable for case in cases], dtype=np.bool_)
    patients = patients_of(cases)

    def among(chosen: NDArray[np.bool_], hits: NDArray[np.bool_]) -> Estimate:
        those = None if patients is None else np.asarray(patients)[chosen]
        return rate(hits[chosen], those)

    return Rates(
        sensitivity=among(referable, referred),
        specificity=among(~referable, ~referred),
        right_referrals=among(referred, referable),
        right_dismissals=among(~referred, ~referable),
    )


def _referred_by_grade(cases: Sequence[Case], referred: NDArray[np.bool_]) -> dict[int, Estimate]:
    grades, patients = grades_of(cases), patients_of(cases)
    of_grade = {int(grade): grades == grade for grade in Grade}
    return {
        grade: rate(referred[inside], None if patients is None else np.asarray(patients)[inside])
        for grade, inside in of_grade.items()
    }
