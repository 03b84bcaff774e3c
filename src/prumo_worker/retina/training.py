"""The task `retina_training`: from photographs to a model folder, each file whole or absent."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, Any

# Errors only, and before the import: TensorFlow tells much about itself otherwise.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np

from prumo_worker.frameworks.tensorflow import build_facts, memory_errors, versions
from prumo_worker.processor import vector_extensions
from prumo_worker.retina.approaches import Approach, FineTuning, FrozenBackbone
from prumo_worker.retina.backbones import Backbone, build_backbone
from prumo_worker.retina.fitting import Checkpoint, Fitting
from prumo_worker.retina.photographs import Photographs, content_of
from prumo_worker.retina.recipe import GRADE_COUNT, RetinaRecipe, read_retina_recipe
from prumo_worker.retina.stages import (
    TRAINING,
    JudgedPhotographs,
    Trained,
    generate_subsets,
    open_records,
    train_folds,
    train_split,
)
from prumo_worker.retina.strategy import Placement, open_placement
from prumo_worker.task import Task, TaskError

if TYPE_CHECKING:
    from prumo_worker.journal import Journal

_POLICIES = {"fp32": "float32", "bf16": "mixed_bfloat16", "fp16": "mixed_float16"}
_LIBRARY = "library"

NETWORK_FILE = "model.keras"
HISTORY_FILE = "history.csv"
FACTS_FILE = "training.json"
CHECKPOINTS = "checkpoints"


@memory_errors()
def train(task: Task, journal: Journal) -> dict[str, float]:
    """Train as the task says, tell the journal, and leave a model where one is asked for."""
    began = perf_counter()
    recipe = read_retina_recipe(task.parameters, pretrained=_is_pretrained(task))
    placement = open_placement(recipe, task.threads)
    keras.config.set_dtype_policy(_POLICIES[recipe.precision])
    keras.utils.set_random_seed(recipe.seed)
    records = task.data.get("records")
    subsets = open_records(Path(records), recipe.image_size) if records else None
    sets: Mapping[str, Photographs] = subsets or generate_subsets(recipe)
    with placement.strategy.scope():
        backbone = _backbone(recipe, task)
    if recipe.frozen:
        kept = task.data.get("features")
        approach: Approach = FrozenBackbone(recipe, placement, backbone, kept, journal)
    else:
        approach = FineTuning(recipe, placement, backbone)
    setup_seconds = perf_counter() - began
    ready = _ready(task, placement, approach, recipe, sets)
    journal.event("ready", **ready, setup_seconds=setup_seconds)

    feature_seconds = approach.prepare(list(sets.values()))
    fitting = Fitting(approach, recipe, journal, task.warmup_steps)
    fingerprint = _fingerprint(recipe, sets, ready["weights"])

    def checkpoint(stage: str) -> Checkpoint:
        """In the model folder; none where no model is asked for."""
        model = task.data.get("model")
        return Checkpoint(Path(model, CHECKPOINTS, f"{stage}.npz") if model else None, fingerprint)

    if subsets is not None and TRAINING not in subsets:
        trained = train_folds(fitting, subsets, recipe, checkpoint)
    else:
        trained = train_split(fitting, sets, recipe, checkpoint)
    metrics = {
        "setup_seconds": setup_seconds,
        "feature_seconds": feature_seconds,
        "first_step_seconds": fitting.first_step_seconds,
        **_metrics(trained, feature_seconds),
    }
    if "model" in task.data:
        found = [trained.judged.scores, *trained.model.learner.weights()]
        if not all(np.isfinite(array).all() for array in found):
            raise TaskError(
                "the training diverged: its scores are no numbers any more; try a lower "
                "learning_rate"
            )
        network = approach.whole_network(trained.model.learner, trained.training)
        _write_model(Path(task.data["model"]), network, trained, ready, metrics)
    return metrics


def _fingerprint(recipe: RetinaRecipe, sets: Mapping[str, Photographs], weights: str) -> str:
    # In their order and by subset: a network goes on only where it has seen nothing held out.
    subsets = {name: [one.digests, one.grades.tolist()] for name, one in sets.items()}
    settings = json.dumps([asdict(recipe), subsets, weights], sort_keys=True)
    return sha256(settings.encode()).hexdigest()


def _is_pretrained(task: Task) -> bool:
    return "weights" in task.data or task.parameters.get("weights") == _LIBRARY


def _backbone(recipe: RetinaRecipe, task: Task) -> Backbone:
    path = task.data.get("weights")
    if path is None:
        return build_backbone(
            recipe.network, recipe.image_size, None, library_weights=_is_pretrained(task)
        )
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return build_backbone(recipe.network, recipe.image_size, dict(arrays))
    except OSError as error:
        raise TaskError(f"{path} cannot be read as arrays of weights: {error}") from error


def _ready(
    task: Task,
    placement: Placement,
    approach: Approach,
    recipe: RetinaRecipe,
    sets: Mapping[str, Photographs],
) -> dict[str, Any]:
    return {
        "device": placement.device,
        "threads": task.threads,
        "versions": {**versions(), "keras": str(keras.__version__)},
        "build": {**build_facts(), "vector_extensions": vector_extensions()},
        "network": {"name": recipe.network, "parameters": approach.parameters},
        "weights": approach.backbone.weights,
        "data": {
            "source": task.data.get("records", "generated"),
            "images": sum(len(photographs.names) for photographs in sets.values()),
            "shape": [3, recipe.image_size, recipe.image_size],
            "classes": max(2, recipe.outputs),
            "content": content_of(list(sets.values())),
            "grades": {
                name: np.bincount(photographs.grades, minlength=GRADE_COUNT).tolist()
                for name, photographs in sets.items()
            },
        },
        "normalization": asdict(approach.backbone.normalization),
    }


def _metrics(trained: Trained, feature_seconds: float) -> dict[str, float]:
    """Of all stages together: whoever pays for a training pays for all of it."""
    courses = [fitted.course for fitted in trained.stages.values()]
    epochs = [epoch for course in courses for epoch in course.epochs]
    images = sum(epoch["images"] for epoch in epochs)
    epoch_seconds = sum(epoch["seconds"] for epoch in epochs)
    return {
        "warmup_seconds": sum(fitted.warmup_seconds for fitted in trained.stages.values()),
        "train_seconds": feature_seconds + epoch_seconds,
        "seconds_per_epoch": fmean(epoch["seconds"] for epoch in epochs),
        "data_seconds": sum(epoch["data_seconds"] for epoch in epochs),
        "compute_seconds": sum(epoch["compute_seconds"] for epoch in epochs),
        "images": images,
        "images_per_second": images / epoch_seconds,
        "loss": courses[-1].epochs[-1]["loss"],
        "accuracy": courses[-1].epochs[-1]["accuracy"],
        "epochs": len(epochs),
        "best_epoch": courses[-1].best_epoch,
        **{f"validation_{name}": value for name, value in trained.judged.figures.items()},
    }


def _write_model(
    folder: Path,
    network: keras.Model,
    trained: Trained,
    ready: Mapping[str, Any],
    metrics: Mapping[str, float],
) -> None:
    """The facts come last: they tell the controller that all the rest is there."""
    folder.mkdir(parents=True, exist_ok=True)
    history = [
        {"stage": name, "epoch": number, **epoch}
        for name, fitted in trained.stages.items()
        for number, epoch in enumerate(fitted.course.epochs, start=1)
    ]
    _write_table(folder / HISTORY_FILE, history)
    _write_scores(folder, trained.judged)
    _replace(folder / NETWORK_FILE, network.save)
    own = ("device", "threads", "versions", "network", "weights", "normalization")
    facts = {
        **{name: ready[name] for name in own},
        "grades": ready["data"]["grades"],
        "content": ready["data"]["content"],
        "judged_on": trained.judged.subset,
        "figures": trained.judged.figures,
        "folds": trained.folds,
        "stages": {
            name: {
                "epochs": fitted.course.epoch,
                "best_epoch": fitted.course.best_epoch,
                "resumed_after_epoch": fitted.resumed_epoch,
            }
            for name, fitted in trained.stages.items()
        },
        "metrics": metrics,
    }
    text = json.dumps(facts, indent=1) + "\n"
    _replace(folder / FACTS_FILE, lambda beside: beside.write_text(text, encoding="utf-8"))


def _write_scores(folder: Path, judged: JudgedPhotographs) -> None:
    """`scores-SUBSET.csv`: image, grade, the fold if there are folds, and the scores."""
    outputs = [f"score{number}" for number in range(judged.scores.shape[1])]
    folds: list[dict[str, str]] = [{"fold": fold} for fold in judged.folds]
    rows = [
        {
            "image": name,
            "grade": int(grade),
            **fold,
            **{output: repr(float(value)) for output, value in zip(outputs, scores)},
        }
        for name, grade, scores, fold in zip(
            judged.names, judged.grades, judged.scores, folds or repeat({})
        )
    ]
    _write_table(folder / f"scores-{judged.subset}.csv", rows)


def _write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))

    def write(beside: Path) -> None:
        with beside.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    _replace(path, write)


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Let a file be written beside its place, then put it there."""
    beside = path.with_name(f".{os.getpid()}.{path.name}")
    write(beside)
    beside.replace(path)
