"""From scores to probabilities and referrals, with nothing learned from the judged photographs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import DataError
from prumo_retina.grade import REFERABLE_FROM
from prumo_retina.judge.calibration import fitted_temperature
from prumo_retina.judge.operating_point import chosen_points, is_referred
from prumo_retina.scoring import referral_probability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prumo_retina.model import OperatingPoint, Task


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
