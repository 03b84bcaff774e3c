"""A photograph with its true grade, and what a model said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import DataError
from prumo.retina.grade import REFERABLE_FROM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


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
