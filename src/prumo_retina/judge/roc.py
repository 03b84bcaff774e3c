"""The ROC curve, what each threshold would find and refer in vain; and the area under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.statistics.interval import DEFAULT_CONFIDENCE
from prumo_retina.judge.case import checked_probability, require_both_classes
from prumo_serve.estimates import Estimate, area_under_curve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
    """How often a referable photograph has a higher probability than another, with its interval."""
    values, truths = checked_probability(probability, referable)
    require_both_classes(truths, "the area under the ROC curve")
    return area_under_curve(values, truths, patients, confidence)
