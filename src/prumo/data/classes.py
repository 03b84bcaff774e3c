"""How many classes a data set has, and whether its labels fit to that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.errors import DataError
from prumo_worker.data.catalog import CATALOG

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

_MOST_CLASSES = 1_000_000


def count_classes(
    labels: np.ndarray, class_names: Sequence[str], dataset: str, place: object
) -> int:
    """Those of a known data set or as many as are named; else as many as the labels say."""
    card = CATALOG.get(dataset)
    if card:
        classes = card.classes
    else:
        classes = len(class_names) or min(int(labels.max()) + 1, _MOST_CLASSES)
    if labels.min() < 0 or labels.max() >= classes:
        raise DataError(
            f"{place}: labels must be from 0 to {classes - 1}; "
            f"these are from {labels.min()} to {labels.max()}"
        )
    return classes
