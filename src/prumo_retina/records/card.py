"""What the records of a data folder hold, and whether they are all there: `records.json`."""

import csv
import hashlib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from prumo.errors import DataError
from prumo_retina.dataset.manifest import MANIFEST_FILE, manifest_sha256
from prumo_retina.fundus.preparation import Preparation

RECORDS_FOLDER, CARD_FILE, SPLIT_FILE = "records", "records.json", "split.csv"
_ADVICE = "call `prumo retina convert` again"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SubsetCard(_Part):
    """One subset: how many photographs of each grade, in which files."""

    images: int
    grades: tuple[int, ...]
    """How many have grade 0, 1, …"""
    shards: dict[str, int]
    """File → its bytes."""


class RecordsCard(_Part):
    """How photographs were split, so that a training can say what it learnt from."""

    format: Literal[1] = 1
    preparation: Preparation
    seed: int
    test: float | None
    """Its share, as that of the validation; folds have none."""
    validation: float | None
    folds: int
    by_patient: bool
    """Whether patients were known, and so kept on one side."""
    subsets: dict[str, SubsetCard]
    left_out: dict[str, int]
    """Why rows of the manifest are not in the records, with how many."""
    content: str
    """SHA-256 over every photograph's name, subset, grade and bytes, in whichever shards."""
    split_sha256: str
    manifest_sha256: str
    """Of the manifest that the photographs were chosen by."""


class ContentHash:
    """The hash of what photographs and grades are in which subset, in any order of telling."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, image: str, subset: str, grade: int, encoded: bytes) -> None:
        """Tell of one photograph."""
        self._lines.append(f"{image},{subset},{grade:d},{hashlib.sha256(encoded).hexdigest()}\n")

    def hexdigest(self) -> str:
        """The hash of all told so far."""
        return hashlib.sha256("".join(sorted(self._lines)).encode()).hexdigest()


def read_card(data: Path) -> RecordsCard:
    """The card of a converted folder whose files are all there; DataError when they are not."""
    folder = data / RECORDS_FOLDER
    path = folder / CARD_FILE
    try:
        card = RecordsCard.model_validate_json(path.read_bytes())
        split = (data / SPLIT_FILE).read_bytes()
        found = {file.name: file.stat().st_size for file in folder.glob("*.tfrecord")}
    except FileNotFoundError as error:
        raise DataError(
            f"{data} has no {RECORDS_FOLDER} to train on: `prumo retina convert` makes them"
        ) from error
    except ValidationError as error:
        raise DataError(f"{path}: is not what Prumo writes; {_ADVICE}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    _require_same(card, found, folder)
    if hashlib.sha256(split).hexdigest() != card.split_sha256:
        raise DataError(f"{data / SPLIT_FILE}: was changed since the records were made; {_ADVICE}")
    if manifest_sha256(data) != card.manifest_sha256:
        raise DataError(
            f"{data / MANIFEST_FILE}: was changed since the records were made; {_ADVICE}"
        )
    return card


def read_split(data: Path) -> dict[str, str]:
    """Name → subset of every photograph with a grade, also of those that cannot be judged."""
    path = data / SPLIT_FILE
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {row["image"]: row["subset"] or "" for row in csv.DictReader(file)}
    except (OSError, UnicodeDecodeError, csv.Error, KeyError) as error:
        raise DataError(f"{path}: cannot be read: {error}; {_ADVICE}") from error


def _require_same(card: RecordsCard, found: dict[str, int], folder: Path) -> None:
    for subset in card.subsets.values():
        for name, size_bytes in subset.shards.items():
            if found.pop(name, None) != size_bytes:
                raise DataError(f"{folder / name}: is missing or was changed; {_ADVICE}")
    for name in found:
        raise DataError(f"{folder / name}: does not belong to the other records; {_ADVICE}")
