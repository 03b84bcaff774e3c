"""Outputs of a network as probabilities; with numpy alone, because a server starts with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prumo.errors import PrumoError

if TYPE_CHECKING:
    from prumo_serve.manifest import Output

_TOLERANCE = 1e-3
"""Half precision and int8 round probabilities by less."""


class ScoresError(PrumoError):
    """A network gave something else than its manifest says."""


def probabilities_of(scores: np.ndarray, output: Output, labels: int) -> tuple[float, ...]:
    """One probability for each label, from a row of the network's output.

    One output with two labels is the probability of the second one.

    >>> from prumo_serve.manifest import Output
    >>> probabilities_of(np.array([0.0, 0.0]), Output(tensor="y", kind="scores"), 2)
    (0.5, 0.5)
    """
    # A temperature of almost nothing makes scores infinite, of which numpy would warn in the log.
    with np.errstate(over="ignore"):
        values = np.asarray(scores, np.float64).reshape(-1) / output.temperature
    if not np.isfinite(values).all():
        raise ScoresError("the network's answer is not a number")
    if len(values) == 1 and output.activation == "softmax":
        raise ScoresError("the network gave one number, of which softmax always makes 1")
    if output.kind == "probabilities":
        _require_probabilities(values)
        values = np.clip(values, 0, 1)
    else:
        values = _sigmoid(values) if output.activation == "sigmoid" else _softmax(values)
    if len(values) == 1 and labels == 2:  # noqa: PLR2004 (yes and no)
        values = np.array([1 - values[0], values[0]])
    if len(values) != labels:
        raise ScoresError(f"the network gave {len(values)} numbers for {labels} labels")
    return tuple(values.tolist())


def _softmax(scores: np.ndarray) -> np.ndarray:
    # The largest is taken off, so that no power overflows.
    powers = np.exp(scores - scores.max())
    shares: np.ndarray = powers / powers.sum()
    return shares


def _sigmoid(scores: np.ndarray) -> np.ndarray:
    # Only powers of negative numbers, which cannot overflow.
    power = np.exp(-np.abs(scores))
    probabilities: np.ndarray = np.where(scores >= 0, 1, power) / (1 + power)
    return probabilities


def _require_probabilities(values: np.ndarray) -> None:
    if values.min(initial=0) < -_TOLERANCE or values.max(initial=0) > 1 + _TOLERANCE:
        raise ScoresError(
            "the network's answers are not from 0 to 1: the manifest calls them probabilities, "
            "but they are scores"
        )
