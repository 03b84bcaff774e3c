"""Answers beside the truth: rates, the ROC curve and kappa, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh, nan, sqrt, tanh
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from prumo.errors import DataError
from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo_retina.grade import GRADE_COUNT, REFERABLE_FROM, Grade
from prumo_serve.estimates import Estimate, area_under_curve, cluster_places, rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from prumo_retina.model import OperatingPoint


@dataclass(frozen=True)
class Case:
    """One photograph to judge a model by."""

    image: str
    grade: int
    scores: tuple[float, ...] | None
    """As the network gave them, before the last activation; None when it is ungradable."""
    patient: str = ""
    camera: str = ""
    site: str = ""
    fold: str = ""
    """The fold that it was held out in, of a cross-validation."""

    @property
    def is_gradable(self) -> bool:
        """Whether the model was asked at all; all others are referred."""
        return self.scores is not None

    @property
    def is_referable(self) -> bool:
        """Whether the truth is a grade that is referred."""
        return self.grade >= REFERABLE_FROM


def scores_of(cases: Sequence[Case]) -> NDArray[np.float64]:
    """A row for each gradable case, in their order, of which there must be one."""
    rows = [case.scores for case in cases if case.scores is not None]
    if not rows:
        raise DataError("there is no gradable photograph with a grade: nothing can be judged")
    return np.array(rows, dtype=np.float64)


def grades_of(cases: Sequence[Case]) -> NDArray[np.intp]:
    """The true grades, in the order of the cases."""
    return np.array([case.grade for case in cases], dtype=np.intp)


def patients_of(cases: Sequence[Case]) -> list[str] | None:
    """The patient of each case; None where nobody knows any patient."""
    names = [case.patient for case in cases]
    return names if any(names) else None


def checked_probability(
    probability: ArrayLike, referable: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Probabilities of a referral and whether it was due, both as arrays of the same length."""
    values = np.asarray(probability, dtype=np.float64)
    truths = np.asarray(referable).astype(np.bool_)
    if values.ndim != 1 or values.shape != truths.shape:
        raise DataError(
            f"{values.size} probabilities do not go with {truths.size} grades: "
            "there must be one of each for every photograph"
        )
    if not np.all((values >= 0) & (values <= 1)):
        raise DataError("a probability is below 0, above 1 or not a number")
    return values, truths


def require_both_classes(referable: NDArray[np.bool_], purpose: str) -> None:
    """Refuse a set in which everybody or nobody is referable: it cannot tell the two apart."""
    count, referable_count = len(referable), int(referable.sum())
    if 0 < referable_count < count:
        return
    found = (
        "there are no photographs with a grade"
        if count == 0
        else f"none of the {count} photographs is referable"
        if referable_count == 0
        else f"all {count} photographs are referable"
    )
    raise DataError(f"{purpose} needs referable photographs and others, but {found}")


def checked_grades(grades: ArrayLike) -> NDArray[np.intp]:
    """Grades from 0 to 4 as whole numbers."""
    values = np.asarray(grades)
    wrong = [value for value in values.tolist() if value not in range(GRADE_COUNT)]
    if wrong:
        raise DataError(f"{wrong[0]!r} is no grade: grades go from 0 to {GRADE_COUNT - 1}")
    return values.astype(np.intp)


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
    grades, patients = grades_of(gradable), patients_of(gradable)
    return PointRates(
        point=point,
        gradable=rates(gradable, referred),
        all=rates(cases, everywhere),
        referred_by_grade={
            int(grade): rate_among(grades == grade, referred, patients) for grade in Grade
        },
    )


def rate_among(
    chosen: NDArray[np.generic], hits: NDArray[np.bool_], patients: Sequence[str] | None
) -> Estimate:
    """The share of hits among the chosen, a mask or places."""
    return rate(hits[chosen], None if patients is None else np.asarray(patients)[chosen])


def rates(cases: Sequence[Case], referred: NDArray[np.bool_]) -> Rates:
    """Rates of cases that are referred or not."""
    referable = np.array([case.is_referable for case in cases], dtype=np.bool_)
    patients = patients_of(cases)
    return Rates(
        sensitivity=rate_among(referable, referred, patients),
        specificity=rate_among(~referable, ~referred, patients),
        right_referrals=rate_among(referred, referable, patients),
        right_dismissals=rate_among(~referred, ~referable, patients),
    )


@dataclass(frozen=True)
class RocCurve:
    """From the corner where nobody is referred to the one where everybody is."""

    threshold: NDArray[np.float64]
    """The first is infinite: it refers nobody."""
    sensitivity: NDArray[np.float64]
    false_alarms: NDArray[np.float64]
    """Share of those referred among the photographs that are not referable: 1 - specificity."""


def roc_curve(probability: ArrayLike, referable: ArrayLike) -> RocCurve:
    """One point for each distinct probability, and the corner before them."""
    values, truths = checked_probability(probability, referable)
    require_both_classes(truths, "a ROC curve")
    distinct, place = np.unique(values, return_inverse=True)
    found = np.bincount(place[truths], minlength=len(distinct))[::-1].cumsum()
    alarmed = np.bincount(place[~truths], minlength=len(distinct))[::-1].cumsum()
    return RocCurve(
        threshold=np.concatenate([[np.inf], distinct[::-1]]),
        sensitivity=np.concatenate([[0.0], found / found[-1]]),
        false_alarms=np.concatenate([[0.0], alarmed / alarmed[-1]]),
    )


def auc(
    probability: ArrayLike, referable: ArrayLike, patients: ArrayLike | None = None
) -> Estimate:
    """How often a referable photograph has a higher probability than another, with its interval."""
    values, truths = checked_probability(probability, referable)
    require_both_classes(truths, "the area under the ROC curve")
    return area_under_curve(values, truths, patients)


def quadratic_kappa(
    answered: ArrayLike, true: ArrayLike, patients: ArrayLike | None = None
) -> Estimate:
    """Cohen's kappa with quadratic weights, between a model's grades and the true ones.

    A miss by two grades counts four times as much as one by one.

    The variance is that of Fleiss, Cohen and Everitt (1969), summed over patients where there are
    any; the interval is symmetric in Fisher's z, so that it stays below 1. Without any spread in
    the grades there is no kappa: the value is not a number.
    """
    rows, columns = checked_grades(true), checked_grades(answered)
    if len(rows) != len(columns):
        raise DataError(f"{len(columns)} grades were given for {len(rows)} true ones")
    n = len(rows)
    shares = confusion(rows, columns) / max(n, 1)
    influence, kappa = _linearized(shares)
    if n == 0 or kappa is None:
        return Estimate(nan, None, None, n, "")
    place, clusters = cluster_places(patients, n)
    sums = np.bincount(place, weights=influence[rows, columns], minlength=clusters)
    if clusters == 1 or abs(kappa) == 1:
        return Estimate(kappa, None, None, n, "")
    error = sqrt(clusters / (clusters - 1) * float(sums @ sums)) / n
    half = float(ndtri(0.5 + DEFAULT_CONFIDENCE / 2)) * error / (1 - kappa**2)
    method = "Fleiss-Cohen-Everitt" + (", z" if patients is None else " by patient, z")
    return Estimate(kappa, tanh(atanh(kappa) - half), tanh(atanh(kappa) + half), n, method)


def confusion(true: ArrayLike, answered: ArrayLike) -> NDArray[np.intp]:
    """Counts of photographs: a row for each true grade, a column for each answered."""
    cells = checked_grades(true) * GRADE_COUNT + checked_grades(answered)
    counts = np.bincount(cells, minlength=GRADE_COUNT**2)
    return counts.reshape(GRADE_COUNT, GRADE_COUNT)


def _linearized(shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], float | None]:
    """What a photograph in each cell adds to kappa, to first order; and kappa itself."""
    grades = np.arange(GRADE_COUNT)
    weights = (grades[:, None] - grades[None, :]) ** 2 / (GRADE_COUNT - 1) ** 2
    true, answered = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float((weights * shares).sum()), float(true @ weights @ answered)
    if expected == 0:
        return np.zeros_like(shares), None
    expected_of_row, expected_of_column = weights @ answered, true @ weights
    shift = expected_of_row[:, None] + expected_of_column[None, :] - 2 * expected
    influence = -(weights - observed) / expected + observed * shift / expected**2
    return influence, 1 - observed / expected
