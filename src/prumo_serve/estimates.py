"""Shares and areas under curves with their intervals, also where images come from one patient."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, ndtri
from scipy.stats import rankdata

from prumo.statistics.interval import DEFAULT_CONFIDENCE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# On the scale of the logit: only rounding leaves so little, as no set has 10^12 images.
_NO_SPREAD = 1e-6
_Z = float(ndtri(0.5 + DEFAULT_CONFIDENCE / 2))


@dataclass(frozen=True)
class Estimate:
    """A value with its interval; both ends are None where there is no telling."""

    value: float
    low: float | None
    high: float | None
    n: int
    method: str
    """How the interval was made, such as `Wilson`."""


def rate(hits: ArrayLike, patients: ArrayLike | None = None) -> Estimate:
    """The share of hits, with an interval in which two eyes of a patient count for less than two.

    Wilson (1927), who keeps to the confidence with few images and near 0 and 1 (Brown, Cai
    and DasGupta 2001). With patients, the sample counts for as many images as its variance
    between patients allows (Rao and Scott 1992).
    """
    values = np.asarray(hits).astype(np.float64)
    n = len(values)
    if n == 0:
        return Estimate(nan, None, None, 0, "")
    share = float(values.mean())
    if patients is None:
        return Estimate(share, *wilson_interval(share, n), n, "Wilson")
    ends = wilson_interval(share, _effective_size(values, patients))
    return Estimate(share, *ends, n, "Wilson by patient")


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """Both ends of the interval of a share of n, which need not be a whole number.

    >>> low, high = wilson_interval(0.95, 100)
    >>> round(low, 4), round(high, 4)
    (0.8882, 0.9785)
    """
    middle = (share + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
    half = _Z / (1 + _Z * _Z / n) * sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def _effective_size(values: NDArray[np.float64], patients: ArrayLike) -> float:
    """How many independent images would leave the share as unsure as these do."""
    n = len(values)
    place, clusters = cluster_places(patients, n)
    share = float(values.mean())
    if clusters == 1 or share in {0.0, 1.0}:
        # How alike images of one patient are cannot be seen, so each patient counts once.
        return float(clusters)
    residuals = np.bincount(place, weights=values - share)
    variance = clusters / (clusters - 1) * float((residuals**2).sum()) / n**2
    return share * (1 - share) / max(variance, share * (1 - share) / n)


def area_under_curve(
    probability: NDArray[np.float64],
    is_positive: NDArray[np.bool_],
    patients: ArrayLike | None = None,
) -> Estimate:
    """How often a positive image has a higher probability than a negative one; ties count half.

    The variance is that of DeLong, DeLong and Clarke-Pearson (1988); with patients that of
    Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53(2), which
    is the same when each patient has one image. The interval is symmetric in the logit of
    the area (Pepe 2003, section 5.2.4).
    """
    values, truths = probability, is_positive
    wins, losses = _placements(values, truths)
    area = float(wins.mean())
    method = "DeLong, logit" if patients is None else "Obuchowski by patient, logit"
    place, clusters = cluster_places(patients, len(values))
    # Without a single mistake, or with all alike, no variance is seen, but few prove little. As
    # many pairs as the smaller class has patients share nothing with each other, and are trials.
    pairs = min(len(np.unique(place[truths])), len(np.unique(place[~truths])))
    ends = wilson_interval(area, pairs)
    without_spread = Estimate(area, *ends, len(values), "Wilson, of disjoint pairs")
    if area in {0.0, 1.0}:
        return without_spread
    variance = _variance(wins - area, losses - area, place[truths], place[~truths], clusters)
    if variance is None:
        return Estimate(area, None, None, len(values), "")
    half = _Z * sqrt(variance) / (area * (1 - area))
    if half < _NO_SPREAD:
        return without_spread
    low, high = expit(logit(area) - half), expit(logit(area) + half)
    return Estimate(area, float(low), float(high), len(values), method)


def _placements(
    values: NDArray[np.float64], truths: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share of negatives below each positive image; share of positives above each negative one."""
    ranks = rankdata(values)
    positives, negatives = int(truths.sum()), int((~truths).sum())
    wins = (ranks[truths] - rankdata(values[truths])) / negatives
    losses = 1 - (ranks[~truths] - rankdata(values[~truths])) / positives
    return wins, losses


def _variance(
    wins: NDArray[np.float64],
    losses: NDArray[np.float64],
    win_place: NDArray[np.intp],
    loss_place: NDArray[np.intp],
    clusters: int,
) -> float | None:
    """Obuchowski's, of deviations from the area; None where a class is of a single patient."""
    with_wins, with_losses = len(np.unique(win_place)), len(np.unique(loss_place))
    if min(with_wins, with_losses) < 2:  # noqa: PLR2004 (a spread needs two)
        return None
    win_sums = np.bincount(win_place, weights=wins, minlength=clusters) / len(wins)
    loss_sums = np.bincount(loss_place, weights=losses, minlength=clusters) / len(losses)
    together = clusters / (clusters - 1) * float(win_sums @ loss_sums)
    variance = (
        with_wins / (with_wins - 1) * float(win_sums @ win_sums)
        + with_losses / (with_losses - 1) * float(loss_sums @ loss_sums)
        + 2 * together
    )
    # Where both eyes of every patient make up for each other, rounding may leave less than nothing.
    return max(0.0, variance)


def cluster_places(patients: ArrayLike | None, count: int) -> tuple[NDArray[np.intp], int]:
    """The cluster of each image, and how many there are: each its own without patients.

    A image without a patient, where others have one, is a cluster by itself.
    """
    if patients is None:
        return np.arange(count), count
    names = np.asarray(patients).astype(np.str_)
    alone = np.char.add("?", np.arange(count).astype(np.str_))
    distinct, place = np.unique(np.where(names == "", alone, names), return_inverse=True)
    return place, len(distinct)
