"""What became of every input of a preparation: `manifest.csv`, nothing left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any

from prumo.errors import DataError
from prumo.files import file_sha256
from prumo_retina.dataset.data_folder import read_table, write_table
from prumo_retina.fundus.circle import Circle
from prumo_retina.fundus.preparation import Verdict
from prumo_retina.grade import Grade

MANIFEST_FILE = "manifest.csv"
_CIRCLE = ("x", "y", "radius")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One input: a photograph, a file that is none, or a label without a photograph."""

    input: str
    """Its path in the folder of photographs, or a running name where names are kept apart."""
    output: str = ""
    """`images/NAME.jpg`, relative to the manifest; empty when nothing could be written."""
    sha256: str = ""
    """Of the input's bytes; empty when there is no file that could be read."""
    width: int = 0
    height: int = 0
    circle: Circle | None = None
    """Where the fundus is, in pixels of the input."""
    verdict: Verdict
    reason: str = ""
    """Why the verdict is not good, and what is wrong with the label."""
    grade: int | None = None
    patient: str = ""
    """A pseudonym, P0001 and so on."""
    eye: str = ""
    """`L`, `R`, or empty when nobody said."""
    camera: str = ""
    site: str = ""
    duplicate_of: str = ""
    """The image, as in `image`, of the first input that shows the same photograph."""

    @property
    def image(self) -> str:
        """The output without folder and extension; empty when there is none."""
        return PurePosixPath(self.output).stem

    @property
    def name(self) -> str:
        """What `split.csv` calls it: its image, or the input where nothing could be written."""
        return self.image or self.input


COLUMNS = tuple(
    column
    for field in fields(Entry)
    for column in (_CIRCLE if field.name == "circle" else (field.name,))
)


def write_manifest(folder: Path, entries: Iterable[Entry]) -> Path:
    """Write the manifest of a folder, whole or not at all."""
    path = folder / MANIFEST_FILE
    rows = map(_row, entries)
    write_table(path, COLUMNS, ([row[column] for column in COLUMNS] for row in rows))
    return path


def read_manifest(folder: Path) -> tuple[Entry, ...]:
    """Every input of a folder that `prumo retina prepare` has finished."""
    return tuple(_entry(row, place) for place, row in read_table(_manifest(folder), COLUMNS))


def manifest_sha256(folder: Path) -> str:
    """Changes whenever anything about any input does."""
    return file_sha256(_manifest(folder))


def _manifest(folder: Path) -> Path:
    path = folder / MANIFEST_FILE
    if not path.exists():
        raise DataError(
            f"{folder} has no {MANIFEST_FILE}: give a folder that `prumo retina prepare` made, "
            "or call that again if it was stopped"
        )
    return path


def _row(entry: Entry) -> dict[str, object]:
    row: dict[str, object] = {name: getattr(entry, name, "") for name in COLUMNS}
    row["verdict"] = entry.verdict.value
    row["grade"] = "" if entry.grade is None else int(entry.grade)
    if not entry.width:
        row["width"] = row["height"] = ""
    if circle := entry.circle:
        row |= {name: f"{getattr(circle, name):.2f}" for name in _CIRCLE}
    return row


def _entry(row: dict[str, str], place: str) -> Entry:
    if None in row or None in row.values():
        raise DataError(f"{place}: has other than {len(COLUMNS)} columns")
    values: dict[str, Any] = {name: row[name] for name in COLUMNS if name not in _CIRCLE}
    try:
        values["verdict"] = Verdict(row["verdict"])
        values["grade"] = Grade(int(row["grade"])) if row["grade"] else None
        values["width"], values["height"] = int(row["width"] or 0), int(row["height"] or 0)
        if row["radius"]:
            values["circle"] = Circle(*(float(row[name]) for name in _CIRCLE))
    except ValueError as error:
        raise DataError(f"{place}: {error}") from error
    return Entry(**values)
