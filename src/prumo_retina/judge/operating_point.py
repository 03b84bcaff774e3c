"""Thresholds on the probability of a referral: named points on the ROC curve, and their rules."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

import numpy as np

from prumo_retina.judge.measures import checked_probability, require_both_classes
from prumo_retina.model import OperatingPoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

HIGH_SENSITIVITY = "high_sensitivity"
BALANCED = "balanced"
HIGH_SPECIFICITY = "high_specificity"
DEFAULT_POINT = HIGH_SENSITIVITY
"""A missed patient may lose sight; one referred in vain loses an afternoon."""
NAMES = (HIGH_SENSITIVITY, BALANCED, HIGH_SPECIFICITY)
TARGET = 0.95
FEWEST_TO_EXPECT = round(1 / (1 - TARGET)) - 1
"""With fewer photographs of a class no threshold can expect `TARGET`: see `allowed_misses`."""


def chosen_points(
    probability: ArrayLike, referable: ArrayLike, chosen_on: str
) -> tuple[OperatingPoint, ...]:
    """The three named points of a set that is not the one they will be judged on.

    Raises:
        DataError: Nobody or everybody in the set is referable, or the arrays do not fit.
    """
    values, truths = checked_probability(probability, referable)
    require_both_classes(truths, f"choosing thresholds on the {chosen_on} photographs")
    cuts = _Cuts(values, truths)
    return tuple(
        OperatingPoint(
            name=name,
            threshold=float(cuts.threshold[at]),
            rule=rule,
            chosen_on=chosen_on,
            sensitivity=float(cuts.sensitivity[at]),
            specificity=float(cuts.specificity[at]),
        )
        for name, choose in _CHOICES.items()
        for at, rule in [choose(cuts)]
    )


def is_referred(probability: ArrayLike, threshold: ArrayLike) -> NDArray[np.bool_]:
    """The one rule that turns a probability into a referral: at the threshold or above it."""
    referred: NDArray[np.bool_] = np.asarray(probability, dtype=np.float64) >= np.asarray(threshold)
    return referred


def allowed_misses(count: int) -> int:
    """How many of so many photographs a threshold may miss and still expect `TARGET` of new ones.

    The threshold fits the photographs that it is chosen on, so new ones are missed more often. With
    (misses + 1) / (count + 1) at most 1 - TARGET, a new one of the same kind is found with at least
    that probability (split conformal prediction: Vovk, Gammerman and Shafer 2005). Fewer than 19
    photographs cannot promise that; then none of them may be missed.
    """
    return max(0, _promised_misses(count))


def _promised_misses(count: int) -> int:
    """Less than none where even a threshold without a miss promises nothing."""
    # Rounded: a twentieth of twenty must not be less than one.
    return floor(round((1 - TARGET) * (count + 1), 9)) - 1


class _Cuts:
    """Every way to cut a set in two by its probabilities, from referring all to referring none.

    A threshold lies halfway between two neighbours, so that the last digit of a probability, which
    may differ between machines, decides on nobody.
    """

    def __init__(self, probability: NDArray[np.float64], referable: NDArray[np.bool_]) -> None:
        distinct, place = np.unique(probability, return_inverse=True)
        ends = np.concatenate([[0.0], distinct, [1.0]])
        thresholds = (ends[:-1] + ends[1:]) / 2
        positives = np.bincount(place[referable], minlength=len(distinct))
        negatives = np.bincount(place[~referable], minlength=len(distinct))
        missed = np.concatenate([[0], np.cumsum(positives)])
        spared = np.concatenate([[0], np.cumsum(negatives)])
        sensitivity = (positives.sum() - missed) / positives.sum()
        specificity = spared / negatives.sum()
        # Where a probability is exactly 1, or two are next to each other, half the way is no cut.
        upper = np.concatenate([distinct, [np.inf]])
        lower = np.concatenate([[-np.inf], distinct])
        is_cut = (thresholds > lower) & (thresholds <= upper)
        self.threshold = thresholds[is_cut]
        self.referable, self.others = int(positives.sum()), int(negatives.sum())
        self.is_sensitive = missed[is_cut] <= allowed_misses(self.referable)
        self.is_specific = self.others - spared[is_cut] <= allowed_misses(self.others)
        self.sensitivity = sensitivity[is_cut]
        self.specificity = specificity[is_cut]


def _high_sensitivity(cuts: _Cuts) -> tuple[int, str]:
    rule = (
        f"expected sensitivity at least {TARGET}, then the greatest specificity"
        if _promised_misses(cuts.referable) >= 0
        else f"none missed, as too few are referable to expect {TARGET}; "
        "then the greatest specificity"
    )
    return _best(cuts.is_sensitive, cuts.specificity, cuts.sensitivity), rule


def _balanced(cuts: _Cuts) -> tuple[int, str]:
    """Youden (1950), "Index for rating diagnostic tests", Cancer 3(1)."""
    everything = np.ones(len(cuts.threshold), dtype=np.bool_)
    # Rounded: sums of the same two shares in another order must count as equal.
    index = np.round(cuts.sensitivity + cuts.specificity - 1, 12)
    rule = "greatest sum of sensitivity and specificity"
    return _best(everything, index, cuts.sensitivity), rule


def _high_specificity(cuts: _Cuts) -> tuple[int, str]:
    if not cuts.is_specific.any():
        rule = f"the greatest specificity, as {TARGET} is out of reach"
        return _best(~cuts.is_specific, cuts.specificity, cuts.sensitivity), rule
    rule = (
        f"expected specificity at least {TARGET}, then the greatest sensitivity"
        if _promised_misses(cuts.others) >= 0
        else f"no false alarm, as too few are not referable to expect {TARGET}; "
        "then the greatest sensitivity"
    )
    return _best(cuts.is_specific, cuts.sensitivity, cuts.specificity), rule


def _best(allowed: NDArray[np.bool_], first: NDArray[np.float64], then: NDArray[np.float64]) -> int:
    """The allowed cut that is greatest in the first figure, and among equals in the second."""
    places = np.flatnonzero(allowed)
    return int(places[np.lexsort((then[places], first[places]))[-1]])


_CHOICES: dict[str, Callable[[_Cuts], tuple[int, str]]] = {
    HIGH_SENSITIVITY: _high_sensitivity,
    BALANCED: _balanced,
    HIGH_SPECIFICITY: _high_specificity,
}
