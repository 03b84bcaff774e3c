"""A folder of prepared photographs: one preparation, one writer at a time, whole tables."""

from __future__ import annotations

import csv
import fcntl
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from prumo.errors import BusyError, DataError, InputError, StorageError
from prumo.files import write_json, write_whole
from prumo_retina.fundus.preparation import Preparation

PREPARATION_FILE = "preparation.json"
IMAGES_FOLDER = "images"
_LOCK_FILE = ".lock"


class DataFolder:
    """Where a preparation puts what it makes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.images_path = path / IMAGES_FOLDER
        self.journal_path = path / ".journal.jsonl"
        self.names_path = path / "names.csv"
        """Which input has which name."""
        self.patients_path = path / "patients.csv"
        """Which patient has which pseudonym."""

    def image_path(self, name: str) -> Path:
        """The prepared photograph of a name."""
        return self.images_path / f"{name}.jpg"

    @contextmanager
    def taken_up(self, preparation: Preparation) -> Iterator[None]:
        """Hold the folder for one process; it must be new, empty, or of the same preparation."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file: give a folder for the prepared photographs")
        if not is_prepared(self.path) and _is_filled(self.path):
            raise InputError(
                f"{self.path} holds other files: give a new or empty folder, or one that "
                "`prumo retina prepare` has made, so that nothing is overwritten"
            )
        with StorageError.writing(self.images_path):
            self.images_path.mkdir(parents=True, exist_ok=True)
        with self.locked():
            if not is_prepared(self.path):
                with StorageError.writing(self.path / PREPARATION_FILE):
                    write_json(self.path / PREPARATION_FILE, preparation)
            existing = read_preparation(self.path)
            if existing != preparation:
                raise InputError(
                    f"{self.path} was prepared with {difference(existing, preparation)}: "
                    "give the same settings or another folder"
                )
            yield

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder; BusyError while another process prepares or converts in it."""
        path = self.path / _LOCK_FILE
        with StorageError.writing(path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _hold(descriptor, self.path)
            yield
        finally:
            os.close(descriptor)


def is_prepared(folder: Path) -> bool:
    """Whether `prumo retina prepare` has written into a folder."""
    return (folder / PREPARATION_FILE).is_file()


def read_preparation(folder: Path) -> Preparation:
    """How the photographs of a folder were prepared."""
    path = folder / PREPARATION_FILE
    try:
        return Preparation.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise DataError(
            f"{folder} has no {PREPARATION_FILE}: give a folder that `prumo retina prepare` made"
        ) from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise DataError(
            f"{path}: {place}: {first['msg']}; it may be of another version of Prumo"
        ) from error


def require_same_preparation(folder: Path, needed: Preparation, model: str, advice: str) -> None:
    """Refuse photographs that do not look as those that the model has learnt from."""
    found = read_preparation(folder)
    if found != needed:
        raise DataError(
            f"{folder} was prepared with {difference(found, needed)}, so {model} would see other "
            f"pixels than it has learnt from; {advice}"
        )


def difference(existing: Iterable[tuple[str, Any]], asked: Iterable[tuple[str, Any]]) -> str:
    """What some settings have otherwise than others, in words."""
    before, now = dict(existing), dict(asked)
    return ", ".join(
        f"{name} {before.get(name)} and not {now.get(name)}"
        for name in before | now
        if before.get(name) != now.get(name)
    )


def _hold(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BusyError(
            f"{folder} is being written by another process: wait for it to end"
        ) from error
    except OSError as error:
        raise StorageError(f"{folder} cannot be locked: {error.strerror or error}") from error


def _is_filled(folder: Path) -> bool:
    """Whether there is anything but what a preparation makes before it knows its settings."""
    made = {folder / _LOCK_FILE, folder / IMAGES_FOLDER}
    try:
        return any(path not in made for path in folder.iterdir()) or any(
            (folder / IMAGES_FOLDER).iterdir()
        )
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageError(f"{folder} cannot be read: {error.strerror or error}") from error


def csv_text(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table as all tables of this package are written."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()


def write_table(
    path: Path, heads: Iterable[str], rows: Iterable[Iterable[object]], *, mode: int = 0o666
) -> None:
    """Write a table, whole or not at all; `mode` is of `write_whole`."""
    with StorageError.writing(path):
        write_whole(path, csv_text(heads, rows), mode=mode)


def read_table(path: Path, columns: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each row of a table that has these columns, with its place, such as `split.csv:2`."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            absent = set(columns) - set(reader.fieldnames or ())
            if absent:
                raise DataError(f"{path}: has no column {', '.join(sorted(absent))}")
            for row in reader:
                yield f"{path}:{reader.line_num}", row
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}:{reader.line_num}: cannot be read: {error}") from error
