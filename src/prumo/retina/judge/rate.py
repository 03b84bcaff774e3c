"""Shares of photographs, such as a sensitivity, with Wilson's interval."""

from __future__ import annotations

from math import nan, sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from prumo.retina.judge.cluster import cluster_places
from prumo.retina.judge.estimate import Estimate
from prumo.statistics.interval import DEFAULT_CONFIDENCE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
