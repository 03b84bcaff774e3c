"""The folder of a trained model: its network, and the description that it is used by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from prumo.errors import InputError, StorageError
from prumo.files import file_sha256, write_json
from prumo_retina.dataset.data_folder import read_table, write_table
from prumo_retina.fundus.preparation import Part, Preparation

Task = Literal["referral", "grade"]
MODEL_FILE = "model.json"
NETWORK_FILE = "model.keras"
FORMAT = 1


class Normalization(Part):
    """What the network's first layers do to pixels from 0 to 255: (pixel - offset) / scale."""

    offset: tuple[float, float, float]
    scale: tuple[float, float, float]
    channels: Literal["rgb", "bgr"] = "rgb"


class OperatingPoint(Part):
    """A threshold on the probability of a referral, with the reason for it."""

    name: str
    """`high_sensitivity`, `balanced`, `high_specificity`."""
    threshold: Annotated[float, Field(ge=0, le=1)]
    rule: str
    """How it was chosen, such as `sensitivity at least 0.95`."""
    chosen_on: str
    """`validation` or `out-of-fold`, never the data that it is judged on."""
    sensitivity: float
    specificity: float


class ModelDescription(Part):
    """Everything but the weights."""

    format: Literal[1] = 1
    name: str
    created: str
    task: Task
    network: str
    preparation: Preparation
    normalization: Normalization
    weights: str
    """Where the backbone's weights came from: `scratch`, or a source and its SHA-256."""
    network_sha256: str
    """Of `model.keras`: another file is refused."""
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Scores are divided by it before they become probabilities; fitted on validation data."""
    points: tuple[OperatingPoint, ...] = ()
    point: str = ""
    """The name of the point that decides on a referral when none is asked for."""
    training: dict[str, Any] = Field(default_factory=dict)
    """Parameters, epochs, seconds, device, versions."""
    data: dict[str, Any] = Field(default_factory=dict)
    """Where the photographs came from, how many of each grade in each subset."""

    @model_validator(mode="after")
    def _require_known_point(self) -> Self:
        names = [point.name for point in self.points]
        if len(set(names)) < len(names):
            raise ValueError("two operating points have the same name")
        if self.point and self.point not in names:
            raise ValueError(f"the point '{self.point}' is none of: {', '.join(names) or 'none'}")
        return self


_VERSION_DIGITS = 12
_DECIDING = {
    "network_sha256",
    "task",
    "preparation",
    "normalization",
    "temperature",
    "points",
    "point",
}


@dataclass(frozen=True)
class ModelFolder:
    """A model that is whole: the network is the one that the description was written for."""

    path: Path
    description: ModelDescription

    @property
    def version(self) -> str:
        """Distinguishes two models of one name: a hash over all that decides on an answer."""
        deciding = self.description.model_dump(mode="json", include=_DECIDING)
        text = json.dumps(deciding, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_VERSION_DIGITS]


def open_model(path: Path) -> ModelFolder:
    """The model in a folder, or an error that says what is missing or was changed."""
    description = _description(path)
    if network_sha256(path) != description.network_sha256:
        raise InputError(
            f"{path / NETWORK_FILE} is not the network that {MODEL_FILE} describes: its SHA-256 "
            "is another. Thresholds and temperature belong to one network; train again, or bring "
            "back the file that they were found with."
        )
    return ModelFolder(path, description)


def write_description(folder: Path, description: ModelDescription) -> None:
    """Write `model.json`, whole or not at all: it comes last and makes the folder a model."""
    path = folder / MODEL_FILE
    with StorageError.writing(path):
        write_json(path, description)


def network_sha256(folder: Path) -> str:
    """Of the network's file in a model folder."""
    path = folder / NETWORK_FILE
    if not path.exists():
        raise InputError(f"{folder} has no {NETWORK_FILE}: the model is not whole")
    return file_sha256(path)


def _description(folder: Path) -> ModelDescription:
    path = folder / MODEL_FILE
    try:
        document = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(_not_a_model(folder)) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    version = document.get("format") if isinstance(document, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise InputError(
            f"{path} has format {version}, which is newer than this Prumo, which reads {FORMAT}: "
            "update Prumo"
        )
    try:
        return ModelDescription.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        raise InputError(f"{path} is not the description of a model: {problem}") from error


def _not_a_model(folder: Path) -> str:
    if not folder.exists():
        return f"there is no model folder {folder}"
    if folder.is_file():
        return f"{folder} is a file; give the folder that `prumo retina train` wrote"
    if (folder / NETWORK_FILE).is_file():
        return (
            f"{folder} has a network but no {MODEL_FILE}: its training has not ended. "
            "The same `prumo retina train` goes on with it."
        )
    return (
        f"{folder} is not a model folder: it has no {MODEL_FILE} inside. "
        "Give the folder that `prumo retina train` wrote."
    )


SEEN_FILE = "photographs.csv"


@dataclass(frozen=True)
class Seen:
    """A photograph that had a say in the weights, the temperature or the thresholds."""

    image: str
    subset: str
    """`train`, `validation`, or a fold."""
    sha256: str
    """Of the file as it was before its preparation, so that it is known under any name."""
    patient: str = ""
    camera: str = ""
    site: str = ""
    duplicate_of: str = ""
    """The image that shows the same photograph."""


_SEEN_COLUMNS = [field.name for field in fields(Seen)]


def write_seen(folder: Path, photographs: Iterable[Seen]) -> None:
    """Write the list of a model folder, whole or not at all."""
    write_table(folder / SEEN_FILE, _SEEN_COLUMNS, map(astuple, photographs))


def read_seen(folder: Path) -> tuple[Seen, ...]:
    """All photographs that the model in a folder was made from."""
    path = folder / SEEN_FILE
    if not path.exists():
        raise InputError(
            f"{folder} has no {SEEN_FILE}, so nobody can tell which photographs the model has "
            "seen; train it again with `prumo retina train`"
        )
    return tuple(
        Seen(**{name: row.get(name) or "" for name in _SEEN_COLUMNS})
        for _, row in read_table(path, ("image", "subset", "sha256"))
    )
