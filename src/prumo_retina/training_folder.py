"""The folder of a model in training: what was asked for, held-out scores, the description."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from prumo.errors import DataError, InputError, StorageError
from prumo.files import write_json
from prumo_retina.dataset.data_folder import DataFolder, difference, read_table
from prumo_retina.grade import DEFAULT_POINT, REFERABLE_FROM
from prumo_retina.judge.calibration import (
    FEWEST_TO_EXPECT,
    TARGET,
    chosen_points,
    fitted_temperature,
)
from prumo_retina.judge.measures import Case, auc, grades_of, patients_of, scores_of
from prumo_retina.model import (
    MODEL_FILE,
    ModelDescription,
    Normalization,
    network_sha256,
    read_seen,
)
from prumo_retina.scoring import referral_probability

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from prumo_retina.records import RecordsCard
    from prumo_retina.workload import RetinaParameters

CHECKPOINTS = "checkpoints"
FACTS_FILE = "training.json"
_SETTINGS_FILE = "settings.json"
OUT_OF_FOLD = "out-of-fold"
_KEPT_FACTS = ("device", "threads", "versions", "judged_on", "figures", "folds")
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
        with StorageError.writing(self._checkpoints):
            self._checkpoints.mkdir(parents=True, exist_ok=True)
        with DataFolder(self._checkpoints).locked():
            if restart:
                for path in (self.path / MODEL_FILE, self.path / FACTS_FILE):
                    path.unlink(missing_ok=True)
                for path in self._checkpoints.glob("[!.]*.*"):
                    path.unlink()
            self._agree_on(settings)
            yield

    def finish(self) -> None:
        """Remove what only an unfinished training needs."""
        shutil.rmtree(self._checkpoints, ignore_errors=True)

    def _agree_on(self, settings: Mapping[str, Any]) -> None:
        path = self._checkpoints / _SETTINGS_FILE
        if not path.exists() or not self.has_progress:
            with StorageError.writing(path):
                write_json(path, settings)
            return
        begun = json.loads(path.read_bytes())
        if begun != settings:
            raise InputError(
                f"{self.path} holds a training that began with "
                f"{difference(begun.items(), settings.items())}: "
                "give the same settings to go on with it, --restart, or another folder"
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
    subset, task = str(facts["judged_on"]), parameters.task
    held_out = read_cases(folder, subset)
    scores, grades = scores_of(held_out), grades_of(held_out)
    temperature = fitted_temperature(scores, grades, task)
    probability = referral_probability(scores, task, temperature)
    *_, last = facts["stages"].values()
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
        points=chosen_points(probability, grades >= REFERABLE_FROM, subset),
        point=DEFAULT_POINT,
        training={
            "parameters": parameters.model_dump(exclude_none=True),
            "seconds": facts["metrics"]["train_seconds"],
            "epochs": last["epochs"],
            "best_epoch": last["best_epoch"],
            "network_parameters": facts["network"]["parameters"],
            **{name: facts[name] for name in _KEPT_FACTS},
        },
        data={
            "subsets": {name: list(subset.grades) for name, subset in card.subsets.items()},
            "left_out": card.left_out,
            "by_patient": card.by_patient,
            "seed": card.seed,
            "content": card.content,
        },
    )


def doubts(description: ModelDescription, held_out: Sequence[Case]) -> Iterator[str]:
    """What the photographs that chose its thresholds say against a model, if anything."""
    point = next(point for point in description.points if point.name == description.point)
    probability = referral_probability(
        scores_of(held_out), description.task, description.temperature
    )
    referable = [case.is_referable for case in held_out]
    area = auc(probability, referable, patients_of(held_out))
    # Below chance throughout is no better: nobody would turn the answers round.
    if area.low is None or area.high is None or area.low <= _CHANCE:
        interval = (
            "too few for an interval"
            if area.low is None or area.high is None
            else f"{area.low:.3f} to {area.high:.3f}"
        )
        yield (
            f"AUC {area.value:.3f} ({interval}) on {point.chosen_on}: nothing shows yet "
            "that this model is better than chance"
        )
    for count, kind, rate in (
        (referable.count(True), "referable", "sensitivity"),
        (referable.count(False), "non-referable", "specificity"),
    ):
        if count < FEWEST_TO_EXPECT:
            yield (
                f"thresholds were chosen on {count} {kind} photographs: fewer than "
                f"{FEWEST_TO_EXPECT} cannot promise a {rate} of {TARGET} on new ones"
            )
    if point.specificity <= 0:
        yield (
            f"{point.name}, the default point, refers everybody: not one {point.chosen_on} "
            "photograph lies below its threshold that is not referable"
        )


def read_cases(folder: Path, subset: str) -> list[Case]:
    """What a training wrote of the photographs that its networks had not seen, in its folder.

    Its thresholds and temperature are chosen on these.
    """
    known = {photograph.image: photograph for photograph in read_seen(folder)}
    needed = ("image", "grade", "fold") if subset == OUT_OF_FOLD else ("image", "grade")
    cases = []
    for place, row in read_table(folder / f"scores-{subset}.csv", needed):
        try:
            seen = known[row["image"]]
            # A row that is too long has cells under no name.
            columns = [name for name in row if name and name.startswith("score")]
            columns.sort(key=lambda name: int(name.removeprefix("score")))
            cases.append(
                Case(
                    image=row["image"],
                    grade=int(row["grade"]),
                    scores=tuple(float(row[name]) for name in columns),
                    patient=seen.patient,
                    camera=seen.camera,
                    site=seen.site,
                    fold=row.get("fold", ""),
                )
            )
        except (KeyError, ValueError, TypeError) as error:
            raise DataError(f"{place}: is not what a training writes: {error}") from error
    return cases
