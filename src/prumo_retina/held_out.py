"""What a network said of the photographs that were held out of its training."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import DataError
from prumo_retina.grade import REFERABLE_FROM

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True)
class HeldOut:
    """Thresholds and temperature are chosen on these, and the model is not judged on them."""

    subset: str
    """`validation` or `out-of-fold`."""
    images: tuple[str, ...]
    scores: NDArray[np.float64]
    """A row for each photograph, before the last activation."""
    grades: NDArray[np.intp]

    @property
    def referable(self) -> NDArray[np.bool_]:
        """Which of them should see a specialist."""
        return self.grades >= REFERABLE_FROM


def read_held_out(folder: Path, subset: str) -> HeldOut:
    """Read the scores that a training left in the folder of its model."""
    path = folder / f"scores-{subset}.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    outputs = [name for name in rows[0] if name.startswith("score")]
    return HeldOut(
        subset=subset,
        images=tuple(row["image"] for row in rows),
        scores=np.array([[float(row[name]) for name in outputs] for row in rows]),
        grades=np.array([int(row["grade"]) for row in rows]),
    )
