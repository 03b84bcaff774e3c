"""What a model said beside what is true, checked before anything is computed from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import DataError
from prumo_retina.grade import GRADE_COUNT, REFERABLE_FROM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Case:
    """One photograph to judge a model by."""

    image: str
    grade: int
    scores: tuple[float, ...] | None
    """As the network gave them, before the last activation; None when it is ungradable."""
    patient: str = ""
    camera: str = ""
    site: str = ""
    fold: str = ""
    """The fold that it was held out in, of a cross-validation."""

    @property
    def is_gradable(self) -> bool:
        """Whether the model was asked at all; all others are referred."""
        return self.scores is not None

    @property
    def is_referable(self) -> bool:
        """Whether the truth is a grade that is referred."""
        return self.grade >= REFERABLE_FROM


def scores_of(cases: Sequence[Case]) -> NDArray[np.float64]:
    """A row for each gradable case, in their order, of which there must be one."""
    rows = [case.scores for case in cases if case.scores is not None]
    if not rows:
        raise DataError("there is no gradable photograph with a grade: nothing can be judged")
    return np.array(rows, dtype=np.float64)


def grades_of(cases: Sequence[Case]) -> NDArray[np.intp]:
    """The true grades, in the order of the cases."""
    return np.array([case.grade for case in cases], dtype=np.intp)


def patients_of(cases: Sequence[Case]) -> list[str] | None:
    """The patient of each case; None where nobody knows any patient."""
    names = [case.patient for case in cases]
    return names if any(names) else None


def checked_probability(
    probability: ArrayLike, referable: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Probabilities of a referral and whether it was due, both as arrays of the same length."""
    values = np.asarray(probability, dtype=np.float64)
    truths = np.asarray(referable).astype(np.bool_)
    if values.ndim != 1 or values.shape != truths.shape:
        raise DataError(
            f"{values.size} probabilities do not go with {truths.size} grades: "
            "there must be one of each for every photograph"
        )
    if not np.all((values >= 0) & (values <= 1)):
        raise DataError("a probability is below 0, above 1 or not a number")
    return values, truths


def require_both_classes(referable: NDArray[np.bool_], purpose: str) -> None:
    """Refuse a set in which everybody or nobody is referable: it cannot tell the two apart."""
    count, referable_count = len(referable), int(referable.sum())
    if 0 < referable_count < count:
        return
    found = (
        "there are no photographs with a grade"
        if count == 0
        else f"none of the {count} photographs is referable"
        if referable_count == 0
        else f"all {count} photographs are referable"
    )
    raise DataError(f"{purpose} needs referable photographs and others, but {found}")


def checked_grades(grades: ArrayLike) -> NDArray[np.intp]:
    """Grades from 0 to 4 as whole numbers."""
    values = np.asarray(grades)
    wrong = [value for value in values.tolist() if value not in range(GRADE_COUNT)]
    if wrong:
        raise DataError(f"{wrong[0]!r} is no grade: grades go from 0 to {GRADE_COUNT - 1}")
    return values.astype(np.intp)
