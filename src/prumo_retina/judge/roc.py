"""The ROC curve, what each threshold would find and refer in vain; and the area under it."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, ndtri
from scipy.stats import rankdata

from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo_retina.judge.case import (
    Estimate,
    checked_probability,
    cluster_places,
    require_both_classes,
)
from prumo_retina.judge.rates import wilson_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# On the scale of the logit: only rounding leaves so little, as no set has 10^12 photographs.
_NO_SPREAD = 1e-6


@dataclass(frozen=True)
class RocCurve:
    """From the corner where nobody is referred to the one where everybody is."""

    threshold: NDArray[np.float64]
    """The first is infinite: it refers nobody."""
    sensitivity: NDArray[np.float64]
    false_alarms: NDArray[np.float64]
    """Share of those referred among the photographs that are not referable: 1 - specificity."""

    @property
    def area(self) -> float:
        """By trapezoids, which counts ties as one half."""
        return float(np.trapezoid(self.sensitivity, self.false_alarms))


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
    probability: ArrayLike,
    referable: ArrayLike,
    patients: ArrayLike | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Estimate:
    """How often a referable photograph has a higher probability than another; ties count half.

    The variance is that of DeLong, DeLong and Clarke-Pearson (1988); with patients that of
    Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53(2), which
    is the same when each patient has one photograph. The interval is symmetric in the logit of
    the area (Pepe 2003, section 5.2.4).
    """
    values, truths = checked_probability(probability, referable)
    require_both_classes(truths, "the area under the ROC curve")
    wins, losses = _placements(values, truths)
    area = float(wins.mean())
    method = "DeLong, logit" if patients is None else "Obuchowski by patient, logit"
    place, clusters = cluster_places(patients, len(values))
    without_spread = Estimate(
        area,
        *_interval_without_spread(area, place, truths, confidence),
        len(values),
        "Wilson, of disjoint pairs",
    )
    if area in {0.0, 1.0}:
        return without_spread
    variance = _variance(wins - area, losses - area, place[truths], place[~truths], clusters)
    if variance is None:
        return Estimate(area, None, None, len(values), "")
    half = float(ndtri(0.5 + confidence / 2)) * sqrt(variance) / (area * (1 - area))
    if half < _NO_SPREAD:
        return without_spread
    low, high = expit(logit(area) - half), expit(logit(area) + half)
    return Estimate(area, float(low), float(high), len(values), method)


def _placements(
    values: NDArray[np.float64], truths: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share of others below each referable photograph; share of referable ones above each other."""
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


def _interval_without_spread(
    area: float, place: NDArray[np.intp], truths: NDArray[np.bool_], confidence: float
) -> tuple[float, float]:
    """Without a single mistake, or with all alike, no variance is seen, but few prove little.

    As many pairs as the smaller class has patients share nothing with each other, so they are as
    many trials.
    """
    pairs = min(len(np.unique(place[truths])), len(np.unique(place[~truths])))
    return wilson_interval(area, pairs, confidence)
