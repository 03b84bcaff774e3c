"""Scores of prepared photographs, from a model's network in TensorFlow's own environment."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, softmax

from prumo.cache import LOGS, made_folder
from prumo.errors import StorageError
from prumo.files import write_json
from prumo.results.folder import LOG_FILE
from prumo.run.worker import Environments, WorkerError, WorkerTask, do_task
from prumo_retina.grade import GRADE_COUNT, REFERABLE_FROM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.progress import Progress
    from prumo.run.journal import Event
    from prumo_retina.model import ModelFolder, Task


KIND = "retina_prediction"
BATCH_SIZE = 16
"""Ours: larger ones are no faster on a processor and only take memory."""
_SCORES = "scores.npy"
_HEAT_MAPS = "heat_maps.npy"


@dataclass(frozen=True)
class Scores:
    """What a network says of each photograph, in the order that they were given in."""

    values: np.ndarray
    """float32 (photographs, outputs), before the last activation."""
    heat_maps: np.ndarray | None = None
    """float32 (photographs, rows, columns) from 0 to 1, in the few rows of the last features."""


def score(
    model: ModelFolder,
    images: Sequence[Path],
    *,
    heat_maps: bool = False,
    device: str = "cpu",
    progress: Progress,
) -> Scores:
    """Ask a worker; the images are JPEGs of the size that the model was prepared for."""
    if not images:
        return Scores(np.zeros((0, output_count(model.description.task)), np.float32))
    environment = Environments({}, progress).find("tensorflow")
    with tempfile.TemporaryDirectory(prefix="prumo-scores-") as temporary:
        folder = Path(temporary)
        listed = folder / "images.json"
        write_json(listed, [str(path.absolute()) for path in images])
        data = {"model": str(model.path.absolute()), "images": str(listed), "out": str(folder)}
        parameters = {"batch_size": BATCH_SIZE, "device": device, "heat_maps": heat_maps}
        asking = "asking the model for heat maps" if heat_maps else "asking the model"
        done = 0

        def hear(event: Event) -> None:
            nonlocal done
            if event["event"] == "step":
                done += event["images"]
            if event["event"] in {"ready", "step"}:
                progress.show(asking, f"{done} of {len(images)} photographs")

        progress.show("starting TensorFlow")
        try:
            do_task(WorkerTask(KIND, parameters, data), environment, folder, hear)
        except WorkerError as error:
            kept = kept_log(folder, KIND)
            raise WorkerError(f"{model.path} gave no answer: {error}\nits log: {kept}") from error
        values = np.load(folder / _SCORES, allow_pickle=False)
        maps = np.load(folder / _HEAT_MAPS, allow_pickle=False) if heat_maps else None
    wanted = output_count(model.description.task)
    if values.shape != (len(images), wanted):
        raise WorkerError(
            f"the network gives {values.shape[1]} scores, which is not what a model for "
            f"'{model.description.task}' has: {wanted}"
        )
    # A probability that is not a number is below every threshold: nobody would be referred.
    if not np.isfinite(values).all():
        raise WorkerError("the network gives scores that are not numbers: it must be trained again")
    return Scores(values, maps)


def output_count(task: Task) -> int:
    """How many scores a network gives for each photograph."""
    return 1 if task == "referral" else GRADE_COUNT


def kept_log(folder: Path, kind: str) -> Path:
    """A worker's log beside those of set-ups: the folder that it was written in goes."""
    kept = made_folder(LOGS) / f"{kind}.log"
    with StorageError.writing(kept):
        shutil.copyfile(folder / LOG_FILE, kept)
    return kept


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
