"""The course of a training: its epochs, their figures, what follows. Pure: no TensorFlow."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from prumo_worker.retina.recipe import REFERABLE_FROM

# Smaller gains than this are noise, and count as none.
_LEAST_GAIN = 1e-4
_RATE_FACTOR = 0.5
_LEAST_RATE_SHARE = 1e-3


@dataclass
class Course:
    """What is kept of the epochs; a training that was stopped goes on from it."""

    learning_rate: float
    """Of the next epoch."""
    first_rate: float = 0.0
    epochs: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int = 0
    best_loss: float = float("inf")
    lowest_watched: float = float("inf")
    epochs_on_plateau: int = 0

    def __post_init__(self) -> None:
        self.first_rate = self.first_rate or self.learning_rate

    @property
    def epoch(self) -> int:
        """The last one that ended; 0 before the first."""
        return len(self.epochs)

    def advance(
        self, epoch: dict[str, float], judged_loss: float | None, watched_loss: float
    ) -> bool:
        """Take in the figures of an epoch that ended; whether its network is the best so far.

        The judged loss decides on the best epoch, which is the last without one; the watched loss
        on when the learning rate falls.
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


def figures(scores: np.ndarray, grades: np.ndarray) -> dict[str, float]:
    """Loss and accuracy of the task; AUC, sensitivity and specificity of a referral; kappa.

    Without referable photographs, or without others, what needs both is not there.
    """
    odds = referral_odds(scores)
    referable = grades >= REFERABLE_FROM
    classes = referable.astype(np.int64) if scores.shape[1] == 1 else grades
    likelihood, answers = _judged(scores)
    found = {
        "loss": float(-likelihood[np.arange(len(classes)), classes].mean()),
        "accuracy": float((answers == classes).mean()),
    }
    if 0 < referable.sum() < len(referable):
        found["auc"] = area_under_curve(odds, referable)
        found["sensitivity"] = float((odds[referable] >= 0).mean())
        found["specificity"] = float((odds[~referable] < 0).mean())
    if scores.shape[1] > 1:
        found["kappa"] = quadratic_kappa(answers, grades, scores.shape[1])
    return found


def referral_odds(scores: np.ndarray) -> np.ndarray:
    """The logarithm of the odds of a referral."""
    odds: np.ndarray
    if scores.shape[1] == 1:
        odds = scores[:, 0].astype(np.float64)
        return odds
    likelihood = _log_softmax(scores)
    referable = np.logaddexp.reduce(likelihood[:, REFERABLE_FROM:], axis=1)
    odds = referable - np.logaddexp.reduce(likelihood[:, :REFERABLE_FROM], axis=1)
    return odds


def area_under_curve(odds: np.ndarray, referable: np.ndarray) -> float:
    """The chance that a referable photograph scores higher than another; ties count half."""
    _, place, counts = np.unique(odds, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    positives = int(referable.sum())
    above = ranks[referable].sum() - positives * (positives + 1) / 2
    return float(above / (positives * (len(odds) - positives)))


def quadratic_kappa(answers: np.ndarray, grades: np.ndarray, count: int) -> float:
    """Agreement beyond chance with squared distances (Cohen 1968); 0 where chance explains all."""
    table = np.zeros((count, count))
    np.add.at(table, (grades, answers), 1)
    distance = np.subtract.outer(np.arange(count), np.arange(count)) ** 2
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(grades)
    worst = (distance * expected).sum()
    return float(1 - (distance * table).sum() / worst) if worst else 0.0


def _judged(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The log-probability of each class and the most likely class, for each photograph."""
    both = np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores
    likelihood = _log_softmax(both)
    return likelihood, likelihood.argmax(axis=1)


def _log_softmax(scores: np.ndarray) -> np.ndarray:
    wide = scores.astype(np.float64)
    likelihood: np.ndarray = wide - np.logaddexp.reduce(wide, axis=1, keepdims=True)
    return likelihood
