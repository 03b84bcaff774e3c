"""A training on disk, so that it can go on after whatever ended its process."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from prumo_worker.retina.course import Course

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_SECONDS_BETWEEN = 30.0


@dataclass
class Progress:
    """All that a training needs to go on."""

    course: Course
    memory: Sequence[np.ndarray]
    """Of the learner, after the last epoch."""
    best: Sequence[np.ndarray]
    """The network's weights after the best epoch."""
    scores: np.ndarray
    """Of the judged photographs after each epoch: (epochs, photographs, outputs)."""


class Checkpoint:
    """One file for one training, whole or as it was before; none where nothing is to be kept."""

    def __init__(self, path: Path | None, fingerprint: str) -> None:
        self._path = path
        self._fingerprint = fingerprint
        self._due = monotonic()

    def load(self) -> Progress | None:
        """What was saved by a training of the same settings and data."""
        if self._path is None:
            return None
        try:
            with np.load(self._path, allow_pickle=False) as kept:
                if str(kept["fingerprint"]) != self._fingerprint:
                    return None
                return Progress(
                    course=Course(**json.loads(str(kept["course"]))),
                    memory=_series(kept, "memory"),
                    best=_series(kept, "best"),
                    scores=kept["scores"],
                )
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None

    @property
    def is_due(self) -> bool:
        """After the first epoch, and then now and then: writing must not be what takes the time."""
        return self._path is not None and monotonic() >= self._due

    def save(self, progress: Progress) -> None:
        """Write beside the file, then put it in place."""
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._path.with_name(f".{os.getpid()}.{self._path.name}")
        with beside.open("wb") as file:
            arrays = {
                "fingerprint": np.array(self._fingerprint),
                "course": np.array(json.dumps(progress.course.as_json())),
                "scores": progress.scores,
                **_named("memory", progress.memory),
                **_named("best", progress.best),
            }
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)
        self._due = monotonic() + _SECONDS_BETWEEN


def _named(name: str, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{name}{place}": array for place, array in enumerate(arrays)}


def _series(kept: Mapping[str, np.ndarray], name: str) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    while f"{name}{len(found)}" in kept:
        found.append(kept[f"{name}{len(found)}"])
    return found
