"""Batches of any size for a network that takes only one size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Run = Callable[[np.ndarray], Mapping[str, np.ndarray]]


def run_in_pieces(run: Run, batch: np.ndarray, size: int | None) -> Mapping[str, np.ndarray]:
    """Ask with pieces of exactly that size, the last one filled up; None takes any size at once."""
    if size is None or len(batch) == size:
        return run(batch)
    answers = [run(_piece(batch, start, size)) for start in range(0, len(batch), size)]
    return {
        name: np.concatenate([answer[name] for answer in answers])[: len(batch)]
        for name in answers[0]
    }


def _piece(batch: np.ndarray, start: int, size: int) -> np.ndarray:
    piece = batch[start : start + size]
    missing = size - len(piece)
    return np.concatenate([piece, np.repeat(piece[-1:], missing, axis=0)]) if missing else piece
