"""From scores to calibrated probabilities, thresholds and referrals."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import exp, floor, log
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from prumo.errors import DataError
from prumo_retina.grade import (
    BALANCED,
    HIGH_SENSITIVITY,
    HIGH_SPECIFICITY,
    REFERABLE_FROM,
)
from prumo_retina.judge.measures import (
    checked_grades,
    checked_probability,
    rate_among,
    require_both_classes,
)
from prumo_retina.model import OperatingPoint
from prumo_retina.scoring import output_count, referral_probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from prumo_retina.model import Task
    from prumo_serve.estimates import Estimate


TARGET = 0.95
FEWEST_TO_EXPECT = round(1 / (1 - TARGET)) - 1
"""With fewer photographs of a class no threshold can expect `TARGET`: see `allowed_misses`."""


class Rule(StrEnum):
    """How a threshold was chosen; a model card translates these."""

    EXPECTED_SENSITIVITY = f"expected sensitivity at least {TARGET}, then the greatest specificity"
    NONE_MISSED = (
        f"none missed, as too few are referable to expect {TARGET}; then the greatest specificity"
    )
    GREATEST_SUM = "greatest sum of sensitivity and specificity"
    EXPECTED_SPECIFICITY = f"expected specificity at least {TARGET}, then the greatest sensitivity"
    NO_FALSE_ALARM = (
        f"no false alarm, as too few are not referable to expect {TARGET}; "
        "then the greatest sensitivity"
    )
    GREATEST_SPECIFICITY = f"the greatest specificity, as {TARGET} is out of reach"


def chosen_points(
    probability: ArrayLike, referable: ArrayLike, chosen_on: str
) -> tuple[OperatingPoint, ...]:
    """The three named points of a set that is not the one they will be judged on."""
    values, truths = checked_probability(probability, referable)
    require_both_classes(truths, f"choosing thresholds on the {chosen_on} photographs")
    cuts = _Cuts(values, truths)
    choices = {
        HIGH_SENSITIVITY: _high_sensitivity(cuts),
        BALANCED: _balanced(cuts),
        HIGH_SPECIFICITY: _high_specificity(cuts),
    }
    return tuple(
        OperatingPoint(
            name=name,
            threshold=float(cuts.threshold[at]),
            rule=rule.value,
            chosen_on=chosen_on,
            sensitivity=float(cuts.sensitivity[at]),
            specificity=float(cuts.specificity[at]),
        )
        for name, (at, rule) in choices.items()
    )


def allowed_misses(count: int) -> int:
    """How many of so many photographs a threshold may miss and still expect `TARGET` of new ones.

    The threshold fits the photographs that it is chosen on, so new ones are missed more often. With
    (misses + 1) / (count + 1) at most 1 - TARGET, a new one of the same kind is found with at least
    that probability (split conformal prediction: Vovk, Gammerman and Shafer 2005). Fewer than 19
    photographs cannot promise that; then none of them may be missed.
    """
    # Rounded: a twentieth of twenty must not be less than one.
    return max(0, floor(round((1 - TARGET) * (count + 1), 9)) - 1)


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


def _high_sensitivity(cuts: _Cuts) -> tuple[int, Rule]:
    can_expect = cuts.referable >= FEWEST_TO_EXPECT
    rule = Rule.EXPECTED_SENSITIVITY if can_expect else Rule.NONE_MISSED
    return _best(cuts.is_sensitive, cuts.specificity, cuts.sensitivity), rule


def _balanced(cuts: _Cuts) -> tuple[int, Rule]:
    """Youden (1950), "Index for rating diagnostic tests", Cancer 3(1)."""
    everything = np.ones(len(cuts.threshold), dtype=np.bool_)
    # Rounded: sums of the same two shares in another order must count as equal.
    index = np.round(cuts.sensitivity + cuts.specificity - 1, 12)
    return _best(everything, index, cuts.sensitivity), Rule.GREATEST_SUM


def _high_specificity(cuts: _Cuts) -> tuple[int, Rule]:
    if not cuts.is_specific.any():
        at = _best(~cuts.is_specific, cuts.specificity, cuts.sensitivity)
        return at, Rule.GREATEST_SPECIFICITY
    can_expect = cuts.others >= FEWEST_TO_EXPECT
    rule = Rule.EXPECTED_SPECIFICITY if can_expect else Rule.NO_FALSE_ALARM
    return _best(cuts.is_specific, cuts.sensitivity, cuts.specificity), rule


def _best(allowed: NDArray[np.bool_], first: NDArray[np.float64], then: NDArray[np.float64]) -> int:
    """The allowed cut that is greatest in the first figure, and among equals in the second."""
    places = np.flatnonzero(allowed)
    return int(places[np.lexsort((then[places], first[places]))[-1]])


BINS = 10
# Beyond these a network knows nothing, or its scores are not scores.
_LOWEST_TEMPERATURE, _HIGHEST_TEMPERATURE = 0.02, 50.0


@dataclass(frozen=True)
class ReliabilityBin:
    """Photographs of about the same probability, and how many of them were referable."""

    count: int
    mean_probability: float
    share: Estimate
    """How many were referable, with its interval."""


@dataclass(frozen=True)
class Calibration:
    """How far probabilities are from shares."""

    brier: float
    """Mean square of probability minus truth (Brier 1950): 0 is perfect, 0.25 says 0.5 always."""
    expected_error: float
    """Mean distance of probability and share over bins, weighted by their photographs."""
    bins: tuple[ReliabilityBin, ...]


def fitted_temperature(scores: ArrayLike, grades: ArrayLike, task: Task) -> float:
    """What scores must be divided by so that their probabilities fit these grades best.

    Guo et al. (2017), "On Calibration of Modern Neural Networks": least negative log-likelihood.
    A set without a single mistake would ask for a temperature of 0, so each truth keeps a doubt of
    one in n + 1, as Platt (1999) gives his targets.
    """
    logits, classes = _classes(scores, grades, task)
    outputs, doubt = logits.shape[1], 1 / (len(classes) + 1)
    shares = np.bincount(classes, minlength=outputs) / len(classes)
    targets = (1 - doubt) * np.eye(outputs)[classes] + doubt * shares

    def loss(log_temperature: float) -> float:
        likelihood = log_softmax(logits / exp(log_temperature), axis=1)
        return float(-(targets * likelihood).sum(axis=1).mean())

    bounds = log(_LOWEST_TEMPERATURE), log(_HIGHEST_TEMPERATURE)
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return exp(found.x)


def calibration(
    probability: ArrayLike,
    referable: ArrayLike,
    patients: Sequence[str] | None = None,
    bins: int = BINS,
) -> Calibration:
    """Brier score, expected calibration error and reliability curve of at least one photograph.

    Bins hold about the same number of photographs each; bins of the same width are mostly empty
    when a model is sure of most photographs (Nixon et al. 2019, "Measuring Calibration in Deep
    Learning").
    """
    values, truths = checked_probability(probability, referable)
    if not len(values):
        raise DataError("calibration needs at least one photograph with a grade")
    filled = tuple(
        ReliabilityBin(
            len(places), float(values[places].mean()), rate_among(places, truths, patients)
        )
        for places in _equal_parts(values, bins)
    )
    distances = [part.count * abs(part.mean_probability - part.share.value) for part in filled]
    return Calibration(
        brier=float(np.mean((values - truths) ** 2)),
        expected_error=sum(distances) / len(values),
        bins=filled,
    )


def _classes(
    scores: ArrayLike, grades: ArrayLike, task: Task
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Scores of at least two classes, and the class of each photograph."""
    table, truths = np.asarray(scores, dtype=np.float64), checked_grades(grades)
    shape = len(truths), output_count(task)
    if table.shape != shape:
        raise DataError(
            f"scores of the shape {table.shape} do not fit the task {task} on {len(truths)} "
            f"photographs: it has {shape}"
        )
    if not np.isfinite(table).all():
        raise DataError("a score is infinite or not a number, so the training went wrong")
    if task == "referral":
        table = np.hstack([np.zeros_like(table), table])
        truths = (truths >= REFERABLE_FROM).astype(np.intp)
    if len(np.unique(truths)) < 2:  # noqa: PLR2004 (there is only one class)
        raise DataError(
            "a temperature needs photographs of at least two classes; "
            f"there are {len(truths)} photographs, all of one class"
        )
    return table, truths


def _equal_parts(values: NDArray[np.float64], parts: int) -> list[NDArray[np.intp]]:
    """Places of the values in ascending order, in parts of about the same size; equals together."""
    order = np.argsort(values, kind="stable")
    starts = np.arange(parts) * len(values) // parts
    firsts = np.unique(np.searchsorted(values[order], values[order][np.unique(starts)]))
    return [part for part in np.split(order, firsts) if len(part)]


@dataclass(frozen=True)
class Decisions:
    """What was said of every gradable photograph."""

    probability: NDArray[np.float64]
    """Of a referral, after temperature scaling."""
    uncalibrated: NDArray[np.float64]
    """The same before it."""
    threshold: dict[str, NDArray[np.float64]]
    """Of each operating point, for each photograph."""

    def referred(self, point: str) -> NDArray[np.bool_]:
        """Who is referred at an operating point: at its threshold or above it."""
        referred: NDArray[np.bool_] = self.probability >= self.threshold[point]
        return referred


def fixed_decisions(
    scores: NDArray[np.float64], task: Task, temperature: float, points: Sequence[OperatingPoint]
) -> Decisions:
    """With the temperature and the thresholds that a model came with."""
    return Decisions(
        probability=referral_probability(scores, task, temperature),
        uncalibrated=referral_probability(scores, task),
        threshold={point.name: np.full(len(scores), point.threshold) for point in points},
    )


def cross_fitted_decisions(
    scores: NDArray[np.float64], grades: NDArray[np.intp], folds: Sequence[str], task: Task
) -> Decisions:
    """Of scores out of fold: what judges a fold was fitted and chosen on all other folds.

    So no photograph has a say in the temperature or the threshold that it is judged by.
    """
    names, place = np.unique(np.asarray(folds), return_inverse=True)
    if len(names) < 2:  # noqa: PLR2004 (others are needed to learn from)
        raise DataError("thresholds of a fold are chosen on the others, but there is only one fold")
    probability, threshold = np.empty(len(scores)), dict[str, np.ndarray]()
    for held_out in range(len(names)):
        inside = place == held_out
        temperature = fitted_temperature(scores[~inside], grades[~inside], task)
        probability[inside] = referral_probability(scores[inside], task, temperature)
        learned = referral_probability(scores[~inside], task, temperature)
        referable = grades[~inside] >= REFERABLE_FROM
        for point in chosen_points(learned, referable, "out-of-fold"):
            threshold.setdefault(point.name, np.empty(len(scores)))[inside] = point.threshold
    return Decisions(probability, referral_probability(scores, task), threshold)
