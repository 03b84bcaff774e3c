"""What a model said beside what is true, checked before anything is computed from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import DataError
from prumo.retina.grade import GRADE_COUNT

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
