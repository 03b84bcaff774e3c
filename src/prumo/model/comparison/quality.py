"""How good a variant's answers are, with intervals, by the measures that judge retina models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.retina.grade import REFERABLE_FROM
from prumo.retina.judge.kappa import quadratic_kappa
from prumo.retina.judge.rate import rate
from prumo.retina.judge.roc import auc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prumo.model.answer import Answer
    from prumo.model.comparison.labelled_images import Truth
    from prumo.model.manifest import Task
    from prumo.retina.judge.estimate import Estimate

_TWO = 2


@dataclass(frozen=True)
class Quality:
    """Figures of one variant on labelled images; those that its task does not have are None."""

    accuracy: Estimate
    """Of labels: grades, referrals or classes."""
    sensitivity: Estimate | None = None
    """Of a referral, or of the second of two classes."""
    specificity: Estimate | None = None
    auc: Estimate | None = None
    kappa: Estimate | None = None
    """Quadratic weighted, of grades."""


@dataclass(frozen=True)
class Judged:
    """The answers to images that a network was asked about, and what is true of them."""

    task: Task
    answers: tuple[Answer, ...]
    truths: tuple[Truth, ...]

    @property
    def patients(self) -> list[str] | None:
        """Of each image; None where nobody knows any."""
        names = [truth.patient for truth in self.truths]
        return names if any(names) else None

    @property
    def told_places(self) -> NDArray[np.intp]:
        """Of the labels that were told."""
        return np.array([answer.place for answer in self.answers], dtype=np.intp)

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Whether each label is the true one."""
        return np.asarray(self.told_places == self._true_places)

    @property
    def is_positive(self) -> NDArray[np.bool_]:
        """What was told: who is referred, or who is of the second class."""
        told = [
            answer.referral.refer if answer.referral else bool(answer.place)
            for answer in self.answers
        ]
        return np.array(told, dtype=np.bool_)

    @property
    def positive_probability(self) -> NDArray[np.float64]:
        """Of a referral, or of the second class."""
        return np.array(
            [
                answer.referral.probability if answer.referral else answer.probabilities[1]
                for answer in self.answers
            ],
            dtype=np.float64,
        )

    @property
    def is_truly_positive(self) -> NDArray[np.bool_]:
        """Who should be referred, or is of the second class."""
        lowest = 1 if self.task == "classification" else REFERABLE_FROM
        return np.array([truth.place >= lowest for truth in self.truths], dtype=np.bool_)

    @property
    def has_two_sides(self) -> bool:
        """Whether answers are positive or negative at all."""
        return self.task != "classification" or len(self.answers[0].labels) == _TWO

    @property
    def _true_places(self) -> NDArray[np.intp]:
        if self.task == "referral":
            return self.is_truly_positive.astype(np.intp)
        return np.array([truth.place for truth in self.truths], dtype=np.intp)


def quality(judged: Judged) -> Quality:
    """The figures of at least one image."""
    patients = judged.patients
    accuracy = rate(judged.is_right, patients)
    if not judged.has_two_sides:
        return Quality(accuracy)
    true, told = judged.is_truly_positive, judged.is_positive
    return Quality(
        accuracy=accuracy,
        sensitivity=_among(true, told, patients),
        specificity=_among(~true, ~told, patients),
        auc=auc(judged.positive_probability, true, patients)
        if 0 < true.sum() < len(true)
        else None,
        kappa=_kappa(judged) if judged.task == "grade" else None,
    )


def _among(
    chosen: NDArray[np.bool_], hits: NDArray[np.bool_], patients: Sequence[str] | None
) -> Estimate | None:
    if not chosen.any():
        return None
    return rate(hits[chosen], None if patients is None else np.asarray(patients)[chosen])


def _kappa(judged: Judged) -> Estimate:
    true = [truth.place for truth in judged.truths]
    return quadratic_kappa(judged.told_places, true, judged.patients)
