"""Which photographs a model was made from: `photographs.csv` beside its network."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from prumo.errors import InputError, StorageError
from prumo.whole_file import write_whole

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
    text = io.StringIO()
    writer = csv.DictWriter(text, _columns(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(photograph) for photograph in photographs)
    path = folder / SEEN_FILE
    try:
        write_whole(path, text.getvalue())
    except OSError as error:
        raise StorageError.on_writing(path, error) from error
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
