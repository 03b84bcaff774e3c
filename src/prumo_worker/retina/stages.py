"""The trainings of a task: which photographs each learns from, on a split or on folds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo_worker.retina.course import figures
from prumo_worker.retina.fitting import Checkpoint, Fitted, Fitting, Stage
from prumo_worker.retina.photographs import (
    GeneratedPhotographs,
    Photographs,
    RecordedPhotographs,
    generate_photographs,
    joined,
    read_photographs,
)
from prumo_worker.task import DataError

if TYPE_CHECKING:
    from prumo_worker.retina.recipe import RetinaRecipe


TRAINING, VALIDATION = "train", "validation"
_FOLD = "fold-"
_SHARD = re.compile(r"(?P<subset>train|validation|fold-\d+)-\d{5}-of-\d{5}\.tfrecord")
# Of every so many generated photographs, one is for validation, as in a split of real ones.
_GENERATED_SHARE = 5


def open_records(records: Path, image_size: int) -> dict[str, RecordedPhotographs]:
    """The photographs of each subset but the test: `train` and `validation`, or folds in order.

    DataError where no training can be made of them.
    """
    shards = _shards(records)
    found = {}
    # Folds by their number, where the tenth comes after the ninth.
    for name in sorted(shards, key=lambda name: (len(name), name)):
        found[name] = read_photographs(shards[name], image_size)
        if not found[name].names:
            raise DataError(f"{records}: the subset {name} has no photographs")
    return found


def generate_subsets(recipe: RetinaRecipe) -> dict[str, GeneratedPhotographs]:
    """The same for a study of time alone."""
    kept = max(1, recipe.images // _GENERATED_SHARE)
    size, seed = recipe.image_size, recipe.seed
    return {
        TRAINING: generate_photographs(recipe.images - kept, size, seed),
        VALIDATION: generate_photographs(kept, size, seed + 1),
    }


def _shards(records: Path) -> dict[str, list[Path]]:
    shards: dict[str, list[Path]] = {}
    for path in sorted(records.glob("*.tfrecord")):
        named = _SHARD.fullmatch(path.name)
        if named:
            shards.setdefault(named["subset"], []).append(path)
    folds = [name for name in shards if name.startswith(_FOLD)]
    if len(folds) == 1:
        raise DataError(f"{records} has one fold only; cross-validation needs two or more")
    if not folds and shards.keys() != {TRAINING, VALIDATION}:
        raise DataError(
            f"{records} has neither {TRAINING} and {VALIDATION} shards nor folds; "
            "`prumo retina convert` makes them"
        )
    return shards


CheckpointFor = Callable[[str], Checkpoint]
OUT_OF_FOLD = "out-of-fold"
FINAL = "final"


@dataclass(frozen=True)
class JudgedPhotographs:
    """Scores of photographs by a network that was not trained on them."""

    subset: str
    """`validation` or `out-of-fold`."""
    names: tuple[str, ...]
    grades: np.ndarray
    scores: np.ndarray
    folds: tuple[str, ...] = ()
    """Of each photograph, in a cross-validation."""

    @property
    def figures(self) -> dict[str, float]:
        """What the scores are worth, all photographs together."""
        return figures(self.scores, self.grades)


@dataclass(frozen=True)
class Trained:
    """What came of all stages."""

    stages: dict[str, Fitted]
    """By name, in order; the last one gave the model."""
    training: Photographs
    """Those that the model was trained on."""
    judged: JudgedPhotographs
    folds: list[dict[str, Any]] = field(default_factory=list)
    """What each fold gave by itself."""

    @property
    def model(self) -> Fitted:
        """The stage that gave the model."""
        return list(self.stages.values())[-1]


def train_split(
    fitting: Fitting,
    subsets: Mapping[str, Photographs],
    recipe: RetinaRecipe,
    checkpoint: CheckpointFor,
) -> Trained:
    """Train on one subset and let the other choose the epoch."""
    training, judged = subsets[TRAINING], subsets[VALIDATION]
    stage = Stage(TRAINING, training, judged, recipe.epochs, recipe.patience)
    fitted = fitting.fit(stage, checkpoint(TRAINING))
    best = fitted.scores[fitted.course.best_epoch - 1]
    found = JudgedPhotographs(VALIDATION, judged.names, judged.grades, best)
    return Trained({TRAINING: fitted}, training, found)


def train_folds(
    fitting: Fitting,
    folds: Mapping[str, RecordedPhotographs],
    recipe: RetinaRecipe,
    checkpoint: CheckpointFor,
) -> Trained:
    """Judge by cross-validation, then train on all folds for as long as suited them.

    A fold has no say in the training of the network that it judges: neither in the learning rate
    nor in the epoch after which it is scored, or its figures would flatter.
    """
    stages = {}
    for name, judged in folds.items():
        others = joined([other for key, other in folds.items() if key != name])
        stage = Stage(name, others, judged, recipe.epochs, follows_judged=False)
        stages[name] = fitting.fit(stage, checkpoint(name))
    best = {name: fitted.course.best_epoch for name, fitted in stages.items()}
    scores, rows = [], []
    for name, judged in folds.items():
        epoch = median_low([epoch for other, epoch in best.items() if other != name])
        scores.append(stages[name].scores[epoch - 1])
        found = figures(scores[-1], judged.grades)
        rows.append({"fold": name, "photographs": len(judged.names), "epoch": epoch, **found})
    everything = joined(list(folds.values()))
    final = Stage(FINAL, everything, judged=None, epochs=median_low(list(best.values())))
    stages[FINAL] = fitting.fit(final, checkpoint(FINAL))
    fold_names = tuple(name for name, judged in folds.items() for _ in judged.names)
    judged_all = JudgedPhotographs(
        OUT_OF_FOLD, everything.names, everything.grades, np.concatenate(scores), fold_names
    )
    return Trained(stages, everything, judged_all, rows)
