"""How good a variant's answers are, with intervals, by the measures that judge retina models."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo_retina.grade import REFERABLE_FROM
from prumo_retina.judge.kappa import quadratic_kappa
from prumo_retina.judge.rates import rate
from prumo_retina.judge.roc import auc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from prumo_retina.judge.case import Estimate
    from prumo_serve.answer import Answer
    from prumo_serve.compare.comparison import Comparison
    from prumo_serve.compare.images import Truth
    from prumo_serve.compare.variant import Variant
    from prumo_serve.image_folder import ImageFolder
    from prumo_serve.manifest import Task


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


def seen_counts(
    variants: Sequence[Variant], folder: ImageFolder, names: Sequence[str]
) -> tuple[int | None, ...]:
    """Of each variant, how many of the named images; None where its package does not say."""
    lists = [variant.package.seen for variant in variants]
    if all(seen is None for seen in lists):
        return (None,) * len(lists)
    judged = [folder.sha256(name) for name in names]
    return tuple(None if seen is None else sum(one in seen for one in judged) for seen in lists)


def seen_sentences(comparison: Comparison) -> Iterator[str]:
    """What figures of seen photographs are worth; and of which model nobody knows them."""
    material = comparison.material
    if material is None:
        return
    names: dict[int, list[str]] = defaultdict(list)
    for row in comparison.rows:
        if row.seen:
            names[row.seen].append(row.variant)
    for count, variants in names.items():
        yield (
            f"{_listed(variants)} learnt from {count} of the {material.images} judged photographs: "
            "the figures of accuracy are better than they would be on new photographs. How often "
            "the variants agree remains meaningful."
        )
    unknown = [
        row.variant
        for row in comparison.rows
        if row.seen is None and row.manifest.origin.format == "retina"
    ]
    if unknown:
        yield (
            f"Whether {_listed(unknown)} learnt from the judged photographs is not known: the "
            "package has no list of them."
        )


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
