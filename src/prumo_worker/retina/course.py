"""The course of a training: its epochs so far, and what follows from them. Pure: no TensorFlow."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

# Smaller gains than this are noise, and count as none.
_LEAST_GAIN = 1e-4
_RATE_FACTOR = 0.5
_LEAST_RATE_SHARE = 1e-3


@dataclass
class Course:
    """What is kept of the epochs; a training that was stopped goes on from it."""

    learning_rate: float
    """Of the next epoch."""
    first_rate: float
    epochs: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = 0
    best_loss: float = float("inf")
    lowest_watched: float = float("inf")
    epochs_on_plateau: int = 0

    @property
    def epoch(self) -> int:
        """The last one that ended; 0 before the first."""
        return len(self.epochs)

    @property
    def seconds(self) -> float:
        """Of all epochs, also those before the training was stopped."""
        return sum(epoch["seconds"] for epoch in self.epochs)

    def advance(
        self, epoch: dict[str, float], judged_loss: float | None, watched_loss: float
    ) -> bool:
        """Take in an epoch that ended; whether its network is the best so far.

        Args:
            epoch: its figures, as they go into the history.
            judged_loss: decides which epoch is the best; without one it is the last.
            watched_loss: decides when the learning rate falls.
        """
        self.epochs.append(epoch)
        if watched_loss < self.lowest_watched - _LEAST_GAIN:
            self.lowest_watched = watched_loss
            self.epochs_on_plateau = 0
        else:
            self.epochs_on_plateau += 1
        if judged_loss is None:
            self.best_epoch = self.epoch
            return True
        if judged_loss < self.best_loss:
            self.best_epoch, self.best_loss = self.epoch, judged_loss
        # One that is no number is never less; then the first epoch must do.
        self.best_epoch = self.best_epoch or self.epoch
        return self.best_epoch == self.epoch

    def reduce_rate(self, patience: int) -> None:
        """Halve the learning rate after so many epochs on a plateau; 0 means never."""
        if patience and self.epochs_on_plateau >= patience:
            least = self.first_rate * _LEAST_RATE_SHARE
            self.learning_rate = max(least, self.learning_rate * _RATE_FACTOR)
            self.epochs_on_plateau = 0

    def is_over(self, epochs: int, patience: int) -> bool:
        """Whether all epochs are done, or the last `patience` were not the best; 0 means never."""
        if self.epoch >= epochs:
            return True
        return bool(patience) and self.epoch - self.best_epoch >= patience

    def as_json(self) -> dict[str, Any]:
        """For a checkpoint."""
        return asdict(self)


def begun_course(learning_rate: float) -> Course:
    """Before the first epoch."""
    return Course(learning_rate=learning_rate, first_rate=learning_rate)
