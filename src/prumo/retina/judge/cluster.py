"""Photographs of one patient are alike, so they tell less than as many of different patients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def cluster_places(patients: ArrayLike | None, count: int) -> tuple[NDArray[np.intp], int]:
    """The cluster of each photograph, and how many there are: each its own without patients.

    A photograph without a patient, where others have one, is a cluster by itself.
    """
    if patients is None:
        return np.arange(count), count
    names = np.asarray(patients).astype(np.str_)
    alone = np.char.add("?", np.arange(count).astype(np.str_))
    distinct, place = np.unique(np.where(names == "", alone, names), return_inverse=True)
    return place, len(distinct)
