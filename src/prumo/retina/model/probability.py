"""Scores of a network as probabilities of grades and of a referral."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, softmax

from prumo.retina.grade import REFERABLE_FROM

if TYPE_CHECKING:
    from prumo.retina.model.description import Task


def referral_probability(scores: np.ndarray, task: Task, temperature: float = 1.0) -> np.ndarray:
    """Of each photograph, from scores (photographs, outputs) before the last activation."""
    if task == "referral":
        probability: np.ndarray = expit(scores[:, 0].astype(np.float64) / temperature)
        return probability
    referable: np.ndarray = grade_probabilities(scores, temperature)[:, REFERABLE_FROM:]
    return np.asarray(referable.sum(axis=1))


def grade_probabilities(scores: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Of each photograph and grade; only a model of the task `grade` has them."""
    probabilities: np.ndarray = softmax(scores.astype(np.float64) / temperature, axis=1)
    return probabilities
