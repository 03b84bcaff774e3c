"""Whether a probability of 0.8 is right four times in five, and the temperature for it."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from prumo.errors import DataError
from prumo_retina.grade import GRADE_COUNT, REFERABLE_FROM
from prumo_retina.judge.case import checked_grades, checked_probability
from prumo_serve.estimates import rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from prumo_retina.model import Task
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
