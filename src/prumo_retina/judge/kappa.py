"""Which grades were told for which true ones, and how well they agree beyond chance."""

from __future__ import annotations

from math import atanh, nan, sqrt, tanh
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from prumo.errors import DataError
from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo_retina.grade import GRADE_COUNT
from prumo_retina.judge.case import checked_grades
from prumo_serve.estimates import Estimate, cluster_places

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def quadratic_kappa(
    told: ArrayLike,
    true: ArrayLike,
    patients: ArrayLike | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Estimate:
    """Cohen's kappa with quadratic weights, between the grades that a model told and the true ones.

    A miss by two grades counts four times as much as one by one.

    The variance is that of Fleiss, Cohen and Everitt (1969), summed over patients where there are
    any; the interval is symmetric in Fisher's z, so that it stays below 1. Without any spread in
    the grades there is no kappa: the value is not a number.
    """
    rows, columns = checked_grades(true), checked_grades(told)
    if len(rows) != len(columns):
        raise DataError(f"{len(columns)} grades were told for {len(rows)} true ones")
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
    half = float(ndtri(0.5 + confidence / 2)) * error / (1 - kappa**2)
    method = "Fleiss-Cohen-Everitt" + (", z" if patients is None else " by patient, z")
    return Estimate(kappa, tanh(atanh(kappa) - half), tanh(atanh(kappa) + half), n, method)


def confusion(true: ArrayLike, told: ArrayLike) -> NDArray[np.intp]:
    """Counts of photographs: a row for each true grade, a column for each that was told."""
    cells = checked_grades(true) * GRADE_COUNT + checked_grades(told)
    counts = np.bincount(cells, minlength=GRADE_COUNT**2)
    return counts.reshape(GRADE_COUNT, GRADE_COUNT)


def _linearized(shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], float | None]:
    """What a photograph in each cell adds to kappa, to first order; and kappa itself."""
    grades = np.arange(GRADE_COUNT)
    weights = (grades[:, None] - grades[None, :]) ** 2 / (GRADE_COUNT - 1) ** 2
    true, told = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float((weights * shares).sum()), float(true @ weights @ told)
    if expected == 0:
        return np.zeros_like(shares), None
    expected_of_row, expected_of_column = weights @ told, true @ weights
    shift = expected_of_row[:, None] + expected_of_column[None, :] - 2 * expected
    influence = -(weights - observed) / expected + observed * shift / expected**2
    return influence, 1 - observed / expected
