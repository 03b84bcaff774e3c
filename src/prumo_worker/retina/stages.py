"""The trainings of a task: one on a split, or one for each fold and one on all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo_worker.retina.cross_validation import cross_validate, final_epochs
from prumo_worker.retina.figures import figures
from prumo_worker.retina.fitting import Fitted, Fitting, Stage
from prumo_worker.retina.photographs import joined
from prumo_worker.retina.subsets import TRAINING, VALIDATION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prumo_worker.retina.checkpoint import Checkpoint
    from prumo_worker.retina.photographs import Photographs, RecordedPhotographs
    from prumo_worker.retina.recipe import RetinaRecipe

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
    return Trained(
        {TRAINING: fitted},
        training,
        JudgedPhotographs(VALIDATION, judged.names, judged.grades, best),
    )


def train_folds(
    fitting: Fitting,
    folds: Mapping[str, RecordedPhotographs],
    recipe: RetinaRecipe,
    checkpoint: CheckpointFor,
) -> Trained:
    """Judge by cross-validation, then train on all folds for as long as suited them."""
    outcomes = cross_validate(fitting, folds, recipe.epochs, checkpoint)
    everything = joined(list(folds.values()))
    stage = Stage(FINAL, everything, judged=None, epochs=final_epochs(outcomes))
    model = fitting.fit(stage, checkpoint(FINAL))
    return Trained(
        {**{outcome.name: outcome.fitted for outcome in outcomes}, FINAL: model},
        everything,
        JudgedPhotographs(
            OUT_OF_FOLD,
            everything.names,
            everything.grades,
            np.concatenate([outcome.scores for outcome in outcomes]),
            tuple(outcome.name for outcome in outcomes for _ in outcome.photographs.names),
        ),
        [
            {
                "fold": outcome.name,
                "photographs": len(outcome.photographs.names),
                "epoch": outcome.epoch,
                **outcome.figures,
            }
            for outcome in outcomes
        ],
    )
