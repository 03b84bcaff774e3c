"""From scores to calibrated probabilities and referrals, and how far they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from prumo.errors import DataError
from prumo_retina.grade import GRADE_COUNT, REFERABLE_FROM
from prumo_retina.judge.measures import checked_grades, checked_probability
from prumo_retina.judge.operating_point import chosen_points, is_referred
from prumo_retina.scoring import referral_probability
from prumo_serve.estimates import rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from prumo_retina.model import OperatingPoint, Task
    from prumo_serve.estimates import Estimate


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

    Raises:
        DataError: Scores are not finite or do not fit the task, or there is only one class.
    """
    logits, classes = _classes(scores, grades, task)
    targets = _doubted(classes, logits.shape[1])

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
    names = None if patients is None else np.asarray(patients)
    filled = tuple(
        ReliabilityBin(
            len(places),
            float(values[places].mean()),
            rate(truths[places], None if names is None else names[places]),
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
    outputs = 1 if task == "referral" else GRADE_COUNT
    if table.shape != (len(truths), outputs):
        raise DataError(
            f"scores of the shape {table.shape} do not fit the task {task} on {len(truths)} "
            f"photographs: it has {(len(truths), outputs)}"
        )
    if not np.isfinite(table).all():
        raise DataError("a score is infinite or not a number, so the training went wrong")
    if task == "referral":
        table = np.hstack([np.zeros_like(table), table])
        truths = (truths >= REFERABLE_FROM).astype(np.intp)
    if len(np.unique(truths)) < 2:  # noqa: PLR2004 (one class cannot be told from another)
        raise DataError(
            "a temperature needs photographs of at least two classes; "
            f"there are {len(truths)} photographs, all of one class"
        )
    return table, truths


def _doubted(classes: NDArray[np.intp], count: int) -> NDArray[np.float64]:
    shares = np.bincount(classes, minlength=count) / len(classes)
    doubt = 1 / (len(classes) + 1)
    targets: NDArray[np.float64] = (1 - doubt) * np.eye(count)[classes] + doubt * shares
    return targets


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
        """Who is referred at an operating point."""
        return is_referred(self.probability, self.threshold[point])


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
