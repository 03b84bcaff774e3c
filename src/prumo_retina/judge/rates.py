"""What an operating point finds and what it spares, with and without ungradable photographs."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo_retina.grade import Grade
from prumo_retina.judge.case import Estimate, cluster_places, grades_of, patients_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from prumo_retina.judge.case import Case
    from prumo_retina.model import OperatingPoint


def rate(
    hits: ArrayLike,
    patients: ArrayLike | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Estimate:
    """The share of hits, with an interval in which two eyes of a patient count for less than two.

    Wilson (1927), who keeps to the confidence with few photographs and near 0 and 1 (Brown, Cai
    and DasGupta 2001). With patients, the sample counts for as many photographs as its variance
    between patients allows (Rao and Scott 1992).
    """
    values = np.asarray(hits).astype(np.float64)
    n = len(values)
    if n == 0:
        return Estimate(nan, None, None, 0, "")
    share = float(values.mean())
    if patients is None:
        return Estimate(share, *wilson_interval(share, n, confidence), n, "Wilson")
    ends = wilson_interval(share, _effective_size(values, patients), confidence)
    return Estimate(share, *ends, n, "Wilson by patient")


def wilson_interval(
    share: float, n: float, confidence: float = DEFAULT_CONFIDENCE
) -> tuple[float, float]:
    """Both ends of the interval of a share of n, which need not be a whole number.

    >>> low, high = wilson_interval(0.95, 100)
    >>> round(low, 4), round(high, 4)
    (0.8882, 0.9785)
    """
    z = float(ndtri(0.5 + confidence / 2))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def _effective_size(values: NDArray[np.float64], patients: ArrayLike) -> float:
    """How many independent photographs would leave the share as unsure as these do."""
    n = len(values)
    place, clusters = cluster_places(patients, n)
    share = float(values.mean())
    if clusters == 1 or share in {0.0, 1.0}:
        # How alike photographs of one patient are cannot be seen, so each patient counts once.
        return float(clusters)
    residuals = np.bincount(place, weights=values - share)
    variance = clusters / (clusters - 1) * float((residuals**2).sum()) / n**2
    return share * (1 - share) / max(variance, share * (1 - share) / n)


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
