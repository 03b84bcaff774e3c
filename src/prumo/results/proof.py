"""What one framework made of one network: the folder that its worker left."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.results.folder import JOURNAL_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SMALL_STEP = 0.05
"""Of the loss."""


@dataclass(frozen=True)
class Answer:
    """What a framework counted and computed from the weights and images of a seed."""

    framework: str
    version: str
    parameters: int
    scores: np.ndarray
    loss: float
    """At step 0."""
    losses_after: Mapping[float, float]
    """After one step of SGD, by learning rate, in ascending order."""
    inputs: str
    """A digest of the weights and images that went in."""

    @property
    def learning_rate(self) -> float:
        """The largest rate whose step changes the loss by no more than a small part.

        There the change is far above rounding, and still in proportion to the gradient.
        """
        small = [rate for rate in self.losses_after if self._is_small(rate)]
        return small[-1] if small else min(self.losses_after)

    @property
    def loss_after(self) -> float:
        """After one step with that rate."""
        return self.losses_after[self.learning_rate]

    def step(self, rate: float) -> float:
        """What one step with a rate changes in the loss; not a number where it was not tried."""
        return self.losses_after.get(rate, math.nan) - self.loss

    def _is_small(self, rate: float) -> bool:
        return abs(self.step(rate)) <= SMALL_STEP * abs(self.loss)


@dataclass(frozen=True)
class NoAnswer:
    """Why a framework gave none."""

    framework: str
    reason: str
    refused: bool
    """Whether it said itself that it cannot; otherwise it failed."""


def read_proof(folder: Path, framework: str) -> Answer | NoAnswer | None:
    """What a worker left in its folder; none when it did not come to an end."""
    try:
        lines = (folder / JOURNAL_FILE).read_text(encoding="utf-8").splitlines()
        events = {event["event"]: event for event in map(json.loads, lines)}
        if failed := events.get("failed"):
            return NoAnswer(framework, str(failed["message"]), failed["kind"] == "unavailable")
        return _answer(framework, events["proof"], folder) if "finished" in events else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _answer(framework: str, proof: dict[str, Any], folder: Path) -> Answer:
    return Answer(
        framework=framework,
        version=str(proof["versions"].get(framework.partition("@")[0], "")),
        parameters=int(proof["parameters"]),
        scores=np.load(folder / str(proof["scores"]), allow_pickle=False),
        loss=_number(proof["loss"]),
        losses_after={
            float(step["learning_rate"]): _number(step["loss_after"]) for step in proof["steps"]
        },
        inputs=str(proof["inputs"]),
    )


def _number(value: float | None) -> float:
    """A journal writes null for what is not finite."""
    return float("nan") if value is None else float(value)
