"""The folder of a model in training: what was asked for, held-out scores, the description."""

from __future__ import annotations

import csv
import json
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from prumo.errors import DataError, InputError, StorageError
from prumo.files import write_json
from prumo_retina.dataset.data_folder import DataFolder
from prumo_retina.grade import DEFAULT_POINT, REFERABLE_FROM
from prumo_retina.judge.calibration import (
    FEWEST_TO_EXPECT,
    TARGET,
    chosen_points,
    fitted_temperature,
)
from prumo_retina.judge.measures import auc
from prumo_retina.model import MODEL_FILE, ModelDescription, Normalization, network_sha256
from prumo_retina.scoring import referral_probability

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from prumo_retina.records import RecordsCard
    from prumo_retina.workload import RetinaParameters
    from prumo_serve.estimates import Estimate

CHECKPOINTS = "checkpoints"
FACTS_FILE = "training.json"
_SETTINGS_FILE = "settings.json"
_CHANCE = 0.5


class TrainingFolder:
    """Until the model is whole, its folder keeps what the next call needs to go on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._checkpoints = path / CHECKPOINTS

    @property
    def is_trained(self) -> bool:
        """Whether the network is there and only its description is missing."""
        return (self.path / FACTS_FILE).is_file()

    @property
    def is_begun(self) -> bool:
        """Whether an earlier call was stopped here."""
        return (self._checkpoints / _SETTINGS_FILE).is_file()

    @property
    def has_progress(self) -> bool:
        """Whether an earlier call left something to go on from."""
        return self.is_trained or any(self._checkpoints.glob("*.npz"))

    @property
    def earlier_call(self) -> str:
        """In words what it left; empty without one, and where the worker tells its last epoch."""
        if self.is_trained:
            return "the network is trained already: only its thresholds are missing"
        if self.is_begun and not self.has_progress:
            return "an earlier call was stopped before its first checkpoint: beginning anew"
        return ""

    def require_ours(self, *, restart: bool) -> None:
        """Refuse a path where a model cannot go, or that holds something else."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file: give a folder for the model")
        if (self.path / MODEL_FILE).is_file():
            if not restart:
                raise InputError(
                    f"{self.path} holds a finished model: give another folder, or --restart to "
                    "train it anew"
                )
        elif not self.is_begun and self.path.is_dir() and any(self.path.iterdir()):
            raise InputError(
                f"{self.path} holds other files: give a new or empty folder for the model"
            )

    @contextmanager
    def held(self, settings: Mapping[str, Any], *, restart: bool) -> Iterator[None]:
        """Keep others out, and refuse what would overwrite another model or mix two trainings."""
        self.require_ours(restart=restart)
        try:
            self._checkpoints.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError.on_writing(self._checkpoints, error) from error
        with DataFolder(self._checkpoints).locked():
            if restart:
                self._empty()
            self._agree_on(settings)
            yield

    def finish(self) -> None:
        """Remove what only an unfinished training needs."""
        shutil.rmtree(self._checkpoints, ignore_errors=True)

    def _empty(self) -> None:
        for name in (MODEL_FILE, FACTS_FILE):
            (self.path / name).unlink(missing_ok=True)
        for path in self._checkpoints.glob("*.*"):
            if path.name[0] != ".":
                path.unlink()

    def _agree_on(self, settings: Mapping[str, Any]) -> None:
        path = self._checkpoints / _SETTINGS_FILE
        if not path.exists() or not self.has_progress:
            try:
                write_json(path, settings)
            except OSError as error:
                raise StorageError.on_writing(path, error) from error
            return
        begun = json.loads(path.read_bytes())
        if begun != settings:
            raise InputError(
                f"{self.path} holds a training that began with {_difference(begun, settings)}: "
                "give the same settings to go on with it, --restart, or another folder"
            )


def _difference(begun: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {begun.get(name)} and not {asked.get(name)}"
        for name in dict.fromkeys([*begun, *asked])
        if begun.get(name) != asked.get(name)
    )


def described(
    folder: Path,
    facts: Mapping[str, Any],
    parameters: RetinaParameters,
    card: RecordsCard,
    weights: str,
) -> ModelDescription:
    """The description of the network in a folder.

    Temperature and operating points come from the photographs that were held out of its training,
    and never from those that it will be judged on.
    """
    held_out = read_held_out(folder, str(facts["judged_on"]))
    task, scores = parameters.task, held_out.scores
    temperature = fitted_temperature(scores, held_out.grades, task)
    probability = referral_probability(scores, task, temperature)
    return ModelDescription(
        name=folder.absolute().name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        task=task,
        network=parameters.network,
        preparation=card.preparation,
        normalization=Normalization.model_validate(facts["normalization"]),
        weights=weights,
        network_sha256=network_sha256(folder),
        temperature=temperature,
        points=chosen_points(probability, held_out.referable, held_out.subset),
        point=DEFAULT_POINT,
        training=_training(facts, parameters),
        data={
            "subsets": {name: list(subset.grades) for name, subset in card.subsets.items()},
            "left_out": card.left_out,
            "by_patient": card.by_patient,
            "seed": card.seed,
            "content": card.content,
        },
    )


def _training(facts: Mapping[str, Any], parameters: RetinaParameters) -> dict[str, Any]:
    *_, last = facts["stages"].values()
    return {
        "parameters": parameters.model_dump(exclude_none=True),
        "seconds": facts["metrics"]["train_seconds"],
        "epochs": last["epochs"],
        "best_epoch": last["best_epoch"],
        "device": facts["device"],
        "threads": facts["threads"],
        "versions": facts["versions"],
        "network_parameters": facts["network"]["parameters"],
        "judged_on": facts["judged_on"],
        "figures": facts["figures"],
        "folds": facts["folds"],
    }


def doubts(
    description: ModelDescription, held_out: HeldOut, patients: Mapping[str, str]
) -> Iterator[str]:
    """What the held-out photographs say against a model; nothing where all is well.

    Args:
        description: of the model.
        held_out: the photographs that its thresholds were chosen on.
        patients: of each image, where they are known.
    """
    probability = referral_probability(held_out.scores, description.task, description.temperature)
    names = [patients.get(image, "") for image in held_out.images]
    area = auc(probability, held_out.referable, names if any(names) else None)
    # Below chance throughout is no better: nobody would turn the answers round.
    if area.low is None or area.low <= _CHANCE:
        yield (
            f"AUC {area.value:.3f} ({_interval(area)}) on {held_out.subset}: nothing shows yet "
            "that this model is better than chance"
        )
    yield from _few(held_out)
    point = next(point for point in description.points if point.name == description.point)
    if point.specificity <= 0:
        yield (
            f"{point.name}, the default point, refers everybody: not one {held_out.subset} "
            "photograph lies below its threshold that is not referable"
        )


def _few(held_out: HeldOut) -> Iterator[str]:
    referable = int(held_out.referable.sum())
    for count, kind, rate in (
        (referable, "referable", "sensitivity"),
        (len(held_out.images) - referable, "non-referable", "specificity"),
    ):
        if count < FEWEST_TO_EXPECT:
            yield (
                f"thresholds were chosen on {count} {kind} photographs: fewer than "
                f"{FEWEST_TO_EXPECT} cannot promise a {rate} of {TARGET} on new ones"
            )


def _interval(area: Estimate) -> str:
    if area.low is None or area.high is None:
        return "too few for an interval"
    return f"{area.low:.3f} to {area.high:.3f}"


@dataclass(frozen=True)
class HeldOut:
    """Thresholds and temperature are chosen on these, and the model is not judged on them."""

    subset: str
    """`validation` or `out-of-fold`."""
    images: tuple[str, ...]
    scores: NDArray[np.float64]
    """A row for each photograph, before the last activation."""
    grades: NDArray[np.intp]

    @property
    def referable(self) -> NDArray[np.bool_]:
        """Which of them should see a specialist."""
        return self.grades >= REFERABLE_FROM


def read_held_out(folder: Path, subset: str) -> HeldOut:
    """Read the scores that a training left in the folder of its model."""
    path = folder / f"scores-{subset}.csv"
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    outputs = [name for name in rows[0] if name.startswith("score")]
    return HeldOut(
        subset=subset,
        images=tuple(row["image"] for row in rows),
        scores=np.array([[float(row[name]) for name in outputs] for row in rows]),
        grades=np.array([int(row["grade"]) for row in rows]),
    )
