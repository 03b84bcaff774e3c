"""One training from its first epoch to its last: timed, judged, told and kept."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from prumo_worker.journal import Journal, Step, step_rows, summed
from prumo_worker.retina.course import Course, figures

if TYPE_CHECKING:
    from prumo_worker.retina.approaches import Approach
    from prumo_worker.retina.learner import Batch, Learner
    from prumo_worker.retina.photographs import Photographs
    from prumo_worker.retina.recipe import RetinaRecipe


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
                "course": np.array(json.dumps(asdict(progress.course))),
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


@dataclass(frozen=True)
class Stage:
    """What one training is of; a cross-validation has several."""

    name: str
    """`train`, `fold-1`, … or `final`."""
    training: Photographs
    judged: Photographs | None
    epochs: int
    patience: int = 0
    follows_judged: bool = True
    """Whether the judged photographs decide on the learning rate; a held-out fold must not."""


@dataclass(frozen=True)
class Fitted:
    """What came of a stage."""

    course: Course
    learner: Learner
    """With the weights of the best epoch, or of the last where nothing was judged."""
    scores: np.ndarray
    """Of the judged photographs after each epoch: (epochs, photographs, outputs)."""
    resumed_epoch: int
    """After which epoch an earlier process had stopped; 0 when there was none."""
    warmup_seconds: float


class Fitting:
    """Trains the stages of a task one after the other."""

    def __init__(
        self, approach: Approach, recipe: RetinaRecipe, journal: Journal, warmup_steps: int
    ) -> None:
        self._approach = approach
        self._recipe = recipe
        self._journal = journal
        self._warmup_steps = warmup_steps
        self.first_step_seconds = 0.0
        """With the building of the graph in it; 0 until there was a step."""

    def fit(self, stage: Stage, checkpoint: Checkpoint) -> Fitted:
        """Train a stage, from where an earlier process left it if there was one."""
        learner = self._approach.learner(stage.training)
        progress = checkpoint.load()
        resumed_epoch = progress.course.epoch if progress else 0
        if progress:
            learner.recall(progress.memory)
            self._journal.event("resumed", stage=stage.name, epoch=resumed_epoch)
        else:
            judged = 0 if stage.judged is None else len(stage.judged.names)
            scores: np.ndarray = np.zeros((0, judged, self._recipe.outputs), np.float32)
            progress = Progress(Course(self._recipe.learning_rate), [], learner.weights(), scores)
        is_over = progress.course.is_over(stage.epochs, stage.patience)
        warmup_seconds = 0.0 if is_over else self._warm_up(learner, stage)
        while not is_over:
            self._advance(learner, stage, progress)
            is_over = progress.course.is_over(stage.epochs, stage.patience)
            if is_over or checkpoint.is_due:
                progress.memory = learner.memory()
                checkpoint.save(progress)
        if stage.judged is not None:
            learner.load_weights(progress.best)
        return Fitted(progress.course, learner, progress.scores, resumed_epoch, warmup_seconds)

    def _warm_up(self, learner: Learner, stage: Stage) -> float:
        """Rehearse steps and judging, which no figure counts, and forget what was learnt."""
        if not self._warmup_steps:
            return 0.0
        began = perf_counter()
        memory = learner.memory()
        batches = islice(self._approach.batches(stage.training, 0), self._warmup_steps)
        self._tell_steps(stage, 0, _trained(learner, batches)[0])
        if stage.judged is not None:
            self._approach.scores(learner, stage.judged)
        learner.recall(memory)
        return perf_counter() - began

    def _advance(self, learner: Learner, stage: Stage, progress: Progress) -> None:
        """Train and judge one epoch, and draw the consequences."""
        course = progress.course
        learner.set_learning_rate(course.learning_rate)
        began = perf_counter()
        batches = self._approach.batches(stage.training, course.epoch + 1)
        steps, right = _trained(learner, batches)
        epoch = {"learning_rate": course.learning_rate, **summed(steps, right)}
        watched, judged = epoch["loss"], None
        if stage.judged is not None:
            scores = self._approach.scores(learner, stage.judged)
            found = figures(scores, stage.judged.grades)
            epoch.update({f"validation_{name}": value for name, value in found.items()})
            progress.scores = np.concatenate([progress.scores, scores[None]])
            judged = found["loss"]
            watched = found["loss"] if stage.follows_judged else watched
        # All of it is what a training takes: steps, judging, and the data in between.
        epoch["seconds"] = perf_counter() - began
        if course.advance(epoch, judged, watched) and stage.judged is not None:
            progress.best = learner.weights()
        course.reduce_rate(self._recipe.reduce_epochs)
        self._tell_steps(stage, course.epoch, steps)
        self._journal.event(
            "epoch", stage=stage.name, epoch=course.epoch, epochs=stage.epochs, **epoch
        )

    def _tell_steps(self, stage: Stage, epoch: int, steps: list[Step]) -> None:
        self.first_step_seconds = self.first_step_seconds or steps[0].seconds
        self._journal.events("step", step_rows(steps, stage=stage.name, epoch=epoch))


def _trained(learner: Learner, batches: Iterable[Batch]) -> tuple[list[Step], int]:
    """What each step took and gave, and how many photographs were right in all of them."""
    steps, total = [], 0
    began = perf_counter()
    for batch in batches:
        came = perf_counter()
        loss, right, images = learner.step(batch)
        done = perf_counter()
        steps.append(Step(came - began, done - came, images, loss))
        total += right
        began = done
    return steps, total
