"""Whether frameworks train the same network: the content of a study's equality.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from prumo.errors import StorageError
from prumo.files import write_json
from prumo.results.folder import JOURNAL_FILE
from prumo.study.network import Architecture

EQUALITY_FILE = "equality.json"
PROOFS_FOLDER = "proofs"


class ProofState(StrEnum):
    """What came of asking one framework."""

    EQUAL = "equal"
    DIFFERENT = "different"
    ALONE = "alone"
    """It answered, and no other framework did."""
    REFUSED = "refused"
    """It cannot express the network, or cannot be had here."""
    FAILED = "failed"
    """It should have answered and did not."""


class FrameworkEquality(BaseModel, frozen=True):
    """One framework's row: what it counted and computed, and how far that is from the others."""

    framework: str
    state: ProofState
    version: str = ""
    parameters: int | None = None
    score_difference: float | None = None
    """Largest difference of a score from the reference's, relative to the largest score."""
    loss: float | None = None
    """At step 0."""
    loss_after: float | None = None
    """After one step of SGD."""
    findings: tuple[str, ...] = ()
    """What differs, or why there is no answer."""


class NetworkEquality(BaseModel, frozen=True):
    """One network as all frameworks of the study build it."""

    network: str
    image_size: int
    channels: int
    classes: int
    parameters: int
    """As the network's description announces them."""
    reference: str = ""
    """The framework nearest to all others, with which they are compared."""
    learning_rate: float | None = None
    """Of the step that is compared: one that changes the reference's loss by a small part."""
    frameworks: tuple[FrameworkEquality, ...]

    @property
    def architecture(self) -> Architecture:
        """What the frameworks were asked to build."""
        return Architecture(self.network, self.image_size, self.channels, self.classes)

    @property
    def differences(self) -> tuple[FrameworkEquality, ...]:
        """The frameworks that do not agree or failed to answer."""
        wrong = {ProofState.DIFFERENT, ProofState.FAILED}
        return tuple(row for row in self.frameworks if row.state in wrong)

    @property
    def holds(self) -> bool:
        """Whether all that answered agree and none failed to answer."""
        return not self.differences


class Tolerances(BaseModel, frozen=True):
    """How far two frameworks may be apart and still be called equal."""

    score: float
    """Of the largest score."""
    loss: float
    """Of the loss at step 0."""
    step: float
    """Of the change that one step makes to the loss."""


class Equality(BaseModel, frozen=True):
    """Every network of a study in all its frameworks."""

    tolerances: Tolerances
    networks: tuple[NetworkEquality, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing differs and nothing failed."""
        return all(network.holds for network in self.networks)

    def frameworks_of(self, architecture: Architecture) -> tuple[str, ...]:
        """The frameworks that were asked for this architecture."""
        return tuple(
            row.framework
            for network in self.networks
            if network.architecture == architecture
            for row in network.frameworks
        )

    def merged(self, earlier: Equality | None) -> Equality:
        """These networks, and those of an earlier check that this one did not look at."""
        if earlier is None or earlier.tolerances != self.tolerances:
            return self
        here = {network.architecture for network in self.networks}
        kept = tuple(network for network in earlier.networks if network.architecture not in here)
        return Equality(tolerances=self.tolerances, networks=kept + self.networks)


def read_equality(results: Path) -> Equality | None:
    """The check in a results folder; none without a whole one."""
    try:
        return Equality.model_validate_json((results / EQUALITY_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def write_equality(results: Path, equality: Equality) -> None:
    """Keep a check in a results folder."""
    path = results / EQUALITY_FILE
    with StorageError.writing(path):
        write_json(path, equality)


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
        most = SMALL_STEP * abs(self.loss)
        small = [rate for rate in self.losses_after if abs(self.step(rate)) <= most]
        return small[-1] if small else min(self.losses_after)

    @property
    def loss_after(self) -> float:
        """After one step with that rate."""
        return self.losses_after[self.learning_rate]

    def step(self, rate: float) -> float:
        """What one step with a rate changes in the loss; not a number where it was not tried."""
        return self.losses_after.get(rate, math.nan) - self.loss


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
