"""A variant beside the first one, image by image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binomtest

from prumo.retina.judge.rate import rate

if TYPE_CHECKING:
    from prumo.model.comparison.quality import Judged
    from prumo.retina.judge.estimate import Estimate


@dataclass(frozen=True)
class Pairing:
    """How often two variants say the same, and whether one of them is right more often."""

    same_label: Estimate
    same_referral: Estimate | None
    """Where it is not the label itself: a grade does not decide on it."""
    largest_difference: float
    """Between the probabilities of a label."""
    only_first_right: int
    only_other_right: int
    p_value: float
    """The chance of so uneven a split if both were right equally often."""


def paired(first: Judged, other: Judged) -> Pairing:
    """Compare answers to the same images.

    McNemar (1947), "Note on the sampling error of the difference between correlated proportions or
    percentages", Psychometrika 12(2); exact, by the binomial distribution.
    """
    patients = first.patients
    probabilities = [
        np.array([answer.probabilities for answer in judged.answers]) for judged in (first, other)
    ]
    lost = int((first.is_right & ~other.is_right).sum())
    won = int((other.is_right & ~first.is_right).sum())
    return Pairing(
        same_label=rate(first.told_places == other.told_places, patients),
        same_referral=(
            rate(first.is_positive == other.is_positive, patients)
            if first.task == "grade"
            else None
        ),
        largest_difference=float(np.abs(probabilities[0] - probabilities[1]).max()),
        only_first_right=lost,
        only_other_right=won,
        p_value=float(binomtest(won, won + lost).pvalue) if won + lost else 1.0,
    )
