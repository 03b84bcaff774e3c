"""Trainings on all folds but one, so that every photograph is judged by a network new to it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING

from prumo_worker.retina.figures import figures
from prumo_worker.retina.fitting import Fitted, Fitting, Stage
from prumo_worker.retina.photographs import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from prumo_worker.retina.checkpoint import Checkpoint
    from prumo_worker.retina.photographs import RecordedPhotographs


@dataclass(frozen=True)
class FoldOutcome:
    """What a network that never saw a fold says of it."""

    name: str
    photographs: RecordedPhotographs
    fitted: Fitted
    epoch: int
    """After which its scores were taken: what suits the other folds best."""

    @property
    def scores(self) -> np.ndarray:
        """Of the fold's photographs, in their order."""
        scores: np.ndarray = self.fitted.scores[self.epoch - 1]
        return scores

    @property
    def figures(self) -> dict[str, float]:
        """What these scores are worth."""
        return figures(self.scores, self.photographs.grades)


def cross_validate(
    fitting: Fitting,
    folds: Mapping[str, RecordedPhotographs],
    epochs: int,
    checkpoint: Callable[[str], Checkpoint],
) -> list[FoldOutcome]:
    """Train one network for each fold, for all epochs asked for.

    A fold has no say in its own training: neither in the learning rate nor in the epoch after
    which it is scored, or its figures would flatter.
    """
    fitted = {
        name: fitting.fit(
            Stage(
                name,
                training=joined([other for key, other in folds.items() if key != name]),
                judged=judged,
                epochs=epochs,
                follows_judged=False,
            ),
            checkpoint(name),
        )
        for name, judged in folds.items()
    }
    best = {name: one.course.best_epoch for name, one in fitted.items()}
    return [
        FoldOutcome(
            name,
            folds[name],
            one,
            median_low([epoch for other, epoch in best.items() if other != name]),
        )
        for name, one in fitted.items()
    ]


def final_epochs(outcomes: list[FoldOutcome]) -> int:
    """For how long to train on all folds together: the median of what suited each."""
    return median_low([outcome.fitted.course.best_epoch for outcome in outcomes])
