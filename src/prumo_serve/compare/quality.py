"""How good a variant's answers are, with intervals."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from prumo_serve.estimates import area_under_curve, rate
from prumo_serve.source import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from prumo_serve.compare.comparison import Comparison
    from prumo_serve.compare.images import Truth
    from prumo_serve.compare.variant import Variant
    from prumo_serve.estimates import Estimate
    from prumo_serve.image_folder import ImageFolder


@dataclass(frozen=True)
class Quality:
    """Figures of one variant on labelled images; those that its task does not have are None."""

    accuracy: Estimate
    """Of labels."""
    sensitivity: Estimate | None = None
    """Of a decision, or of the second of two classes."""
    specificity: Estimate | None = None
    auc: Estimate | None = None
    kappa: Estimate | None = None
    """Quadratic weighted, of labels that are in an order."""


@dataclass(frozen=True)
class Decision:
    """Yes or no for each image, said and true."""

    told: NDArray[np.bool_]
    true: NDArray[np.bool_]
    probability: NDArray[np.float64]
    """Of yes."""
    name: str = ""
    """What is decided, in a word, where it is not the label that everybody reads."""
    is_label: bool = True
    """Whether the label says what was decided."""


@dataclass(frozen=True)
class Judged:
    """The answers to images that a network was asked about, and what is true of them."""

    told: NDArray[np.intp]
    """The place of the label that was given to each image."""
    true: NDArray[np.intp]
    probabilities: NDArray[np.float64]
    """(image, label)."""
    patients: list[str] | None = None
    """Whose each image is; None where nobody knows any."""
    decision: Decision | None = None
    kappa: Estimate | None = None

    @classmethod
    def of(  # noqa: PLR0913 (what a task knows about answers)
        cls,
        told: NDArray[np.intp],
        true: NDArray[np.intp],
        probabilities: NDArray[np.float64],
        truths: Sequence[Truth],
        *,
        decision: Decision | None = None,
        kappa: Estimate | None = None,
    ) -> Self:
        """With the patients of the truths."""
        return cls(told, true, probabilities, patients_of(truths), decision, kappa)

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Whether each label is the true one."""
        return np.asarray(self.told == self.true)


def patients_of(truths: Sequence[Truth]) -> list[str] | None:
    """Whose each image is; None where nobody knows any."""
    names = [truth.patient for truth in truths]
    return names if any(names) else None


def quality(judged: Judged) -> Quality:
    """The figures of at least one image."""
    accuracy = rate(judged.is_right, judged.patients)
    decision = judged.decision
    if decision is None:
        return Quality(accuracy, kappa=judged.kappa)
    has_both = 0 < decision.true.sum() < len(decision.true)
    return Quality(
        accuracy=accuracy,
        sensitivity=_among(decision.true, decision.told, judged.patients),
        specificity=_among(~decision.true, ~decision.told, judged.patients),
        auc=area_under_curve(decision.probability, decision.true, judged.patients)
        if has_both
        else None,
        kappa=judged.kappa,
    )


def _among(
    chosen: NDArray[np.bool_], hits: NDArray[np.bool_], patients: Sequence[str] | None
) -> Estimate | None:
    if not chosen.any():
        return None
    return rate(hits[chosen], None if patients is None else np.asarray(patients)[chosen])


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
        if row.seen is None and row.manifest.origin.format not in FORMATS
    ]
    if unknown:
        yield (
            f"Whether {_listed(unknown)} learnt from the judged photographs is not known: the "
            "package has no list of them."
        )


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
