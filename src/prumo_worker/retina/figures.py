"""What scores of photographs are worth, computed while a training goes on."""

from __future__ import annotations

import numpy as np

from prumo_worker.retina.recipe import REFERABLE_FROM


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
