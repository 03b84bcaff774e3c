"""The folder of a trained model: its network, and the description that it is used by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from prumo.errors import InputError, StorageError
from prumo.files import write_whole
from prumo.retina.model.description import FORMAT, MODEL_FILE, NETWORK_FILE, ModelDescription

if TYPE_CHECKING:
    from pathlib import Path

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
    def network(self) -> Path:
        """The file of Keras's."""
        return self.path / NETWORK_FILE

    @property
    def version(self) -> str:
        """What tells two models of one name apart: a hash over all that decides on an answer."""
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
    try:
        write_whole(path, description.model_dump_json(indent=1) + "\n")
    except OSError as error:
        raise StorageError.on_writing(path, error) from error


def network_sha256(folder: Path) -> str:
    """Of the network's file in a model folder."""
    path = folder / NETWORK_FILE
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{folder} has no {NETWORK_FILE}: the model is not whole") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _description(folder: Path) -> ModelDescription:
    path = folder / MODEL_FILE
    document = _document(folder)
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
        told = f"{place}: {first['msg']}" if place else first["msg"]
        raise InputError(f"{path} is not the description of a model: {told}") from error


def _document(folder: Path) -> Any:  # noqa: ANN401 (any JSON value)
    path = folder / MODEL_FILE
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(_not_a_model(folder)) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error


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
