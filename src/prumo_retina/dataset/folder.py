"""The files of a folder of photographs, and pseudonyms with a key that only its owner reads."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path, PurePosixPath

from prumo.errors import DataError, InputError
from prumo_retina.dataset.data_folder import is_prepared, write_table
from prumo_retina.photograph import SUFFIXES, is_photograph_file
from prumo_serve.image_folder import shown_name, walk_files

_TABLE_SUFFIXES = {".csv", ".tsv"}


@dataclass(frozen=True)
class PhotographFolder:
    """The files of a folder and of all folders in it."""

    path: Path
    photographs: Mapping[str, Path]
    """By the path inside the folder, in the order of these."""
    tables: tuple[Path, ...]
    others: tuple[str, ...]
    """Files that are not looked at."""
    left_out: tuple[str, ...]
    """Folders that are not looked at: unreadable, or written by a preparation."""


def find_photographs(path: Path, output: Path | None = None) -> PhotographFolder:
    """Look through a folder, leaving out what preparations wrote into it."""
    if not path.is_dir():
        problem = "is a file" if path.exists() else "does not exist"
        raise InputError(f"{path} {problem}: give the folder that holds the photographs")
    if _is_same(path, output) or is_prepared(path):
        raise InputError(f"{path} holds prepared photographs: give the folder of the original ones")
    left_out: list[str] = []

    def why_skip(folder: Path) -> str:
        if _is_same(folder, output):
            return "is written to"
        return "holds prepared photographs" if is_prepared(folder) else ""

    files = list(walk_files(path, why_skip, left_out))
    photographs = {shown_name(file, path): file for file in files if _is_photograph(file)}
    if not photographs:
        endings = ", ".join(sorted(SUFFIXES))
        raise InputError(f"{path} holds no photographs: no file ends in {endings} or begins as one")
    tables = tuple(file for file in files if file.suffix.lower() in _TABLE_SUFFIXES)
    rest = set(files) - set(tables) - set(photographs.values())
    return PhotographFolder(
        path=path,
        photographs=dict(sorted(photographs.items())),
        tables=tuple(sorted(tables)),
        others=tuple(sorted(shown_name(file, path) for file in rest)),
        left_out=tuple(sorted(left_out)),
    )


def without_suffix(path: str) -> str:
    """A path without the ending of a photograph; what follows another dot is part of a name."""
    parts = PurePosixPath(path)
    return str(parts.with_suffix("")) if parts.suffix.lower() in SUFFIXES else path


def _is_same(folder: Path, other: Path | None) -> bool:
    return other is not None and other.exists() and folder.samefile(other)


def _is_photograph(file: Path) -> bool:
    # Other systems put their own notes beside a file, such as `._1.jpg`.
    if file.name.startswith("."):
        return False
    ending = file.suffix.lower()
    return ending in SUFFIXES or (ending not in _TABLE_SUFFIXES and is_photograph_file(file))


_SUFFIXES = frozenset(
    {
        *(".avif", ".bmp", ".gif", ".heic", ".heif", ".j2k", ".jp2", ".jxl", ".pgm", ".ppm"),
        *(".psd", ".webp"),
        # As cameras write them before they are developed.
        *(".arw", ".cr2", ".cr3", ".dng", ".nef", ".orf", ".raf", ".raw", ".rw2"),
    }
)


def with_unread_kinds(found: PhotographFolder) -> PhotographFolder:
    """Count such pictures among the photographs; reading them tells what is wrong."""
    unread = {
        name: path
        for name in found.others
        # A name of unusual bytes is shown otherwise than it is.
        if is_unread_kind(name) and (path := found.path / name).is_file()
    }
    return replace(
        found,
        photographs=dict(sorted({**found.photographs, **unread}.items())),
        others=tuple(name for name in found.others if name not in unread),
    )


def is_unread_kind(path: str) -> bool:
    """Whether a file is named as a picture of another kind than JPEG, PNG, TIFF and DICOM."""
    name = PurePosixPath(path)
    return name.suffix.lower() in _SUFFIXES and not name.name.startswith(".")


OWNER_ONLY = 0o600
_LONGEST_NAME_BYTES = 200


@dataclass(frozen=True)
class Key:
    """What stands for what, with the titles of these two columns."""

    heads: tuple[str, str]
    names: Mapping[str, str] = field(default_factory=dict)


def read_key(path: Path) -> Key | None:
    """The key that an earlier run has written; None when there was none."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    try:
        (original, substitute), *pairs = rows
        return Key((original, substitute), dict(pairs))
    except ValueError as error:
        raise DataError(f"{path}: is no key: every line must have two columns") from error


def write_key(path: Path, key: Key) -> None:
    """Keep a key, readable by its owner alone."""
    write_table(path, key.heads, key.names.items(), mode=OWNER_ONLY)


def with_numbers(
    names: Mapping[str, str], added: Iterable[str], prefix: str, digits: int
) -> dict[str, str]:
    """Running names for what is new; whatever has one keeps it.

    >>> with_numbers({"Ana": "P0001"}, ["Rui", "Ana"], "P", 4)
    {'Ana': 'P0001', 'Rui': 'P0002'}
    """
    ends = (name.removeprefix(prefix) for name in names.values())
    # Their owner may have renamed some by hand.
    numbers = count(max((int(end) for end in ends if end.isdecimal()), default=0) + 1)
    new = [name for name in dict.fromkeys(added) if name not in names]
    return {**names, **{name: f"{prefix}{next(numbers):0{digits}}" for name in new}}


def with_own_names(names: Mapping[str, str], added: Iterable[str]) -> dict[str, str]:
    """The files' own names, with those of their folders where one is taken.

    >>> with_own_names({}, ["left/1.jpg", "right/1.jpg"])
    {'left/1.jpg': '1', 'right/1.jpg': 'right-1'}
    """
    result = dict(names)
    # Some file systems do not distinguish `a.jpg` from `A.jpg`.
    taken = {name.casefold() for name in names.values()}
    for path in added:
        if path not in result:
            name = next(name for name in _possible_names(path) if name.casefold() not in taken)
            taken.add(name.casefold())
            result[path] = name
    return result


def _possible_names(path: str) -> Iterator[str]:
    bare = without_suffix(path)
    writable = (c if c.isprintable() and c != "\\" else "_" for c in bare)
    parts = PurePosixPath("".join(writable)).parts
    for depth in range(1, len(parts) + 1):
        yield shortened("-".join(parts[-depth:]))
    for number in count(2):
        yield f"{shortened('-'.join(parts))}-{number}"


def shortened(name: str) -> str:
    """A name that leaves room for an ending in the 255 bytes that file systems take."""
    data = os.fsencode(name)
    if len(data) <= _LONGEST_NAME_BYTES:
        return name
    return data[:_LONGEST_NAME_BYTES].decode("utf-8", "ignore")
