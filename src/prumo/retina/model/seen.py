"""Which photographs a model was made from: `photographs.csv` beside its network."""

from __future__ import annotations

import csv
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.retina.whole_table import write_table

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

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


def write_seen(folder: Path, photographs: Iterable[Seen]) -> Path:
    """Write the list of a model folder, whole or not at all."""
    path = folder / SEEN_FILE
    write_table(path, _columns(), map(astuple, photographs))
    return path


def read_seen(folder: Path) -> tuple[Seen, ...]:
    """All photographs that the model in a folder was made from."""
    path = folder / SEEN_FILE
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            absent = {"image", "subset", "sha256"} - set(reader.fieldnames or ())
            if absent:
                raise InputError(f"{path}: has no column {', '.join(sorted(absent))}")
            return tuple(
                Seen(**{name: row.get(name) or "" for name in _columns()}) for row in reader
            )
    except FileNotFoundError:
        raise InputError(
            f"{folder} has no {SEEN_FILE}, so nobody can tell which photographs the model has "
            "seen; train it again with `prumo retina train`"
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def _columns() -> list[str]:
    return [field.name for field in fields(Seen)]
