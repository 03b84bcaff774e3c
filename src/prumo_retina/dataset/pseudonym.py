"""Names that stand for names, and the key to them, which only its owner may read."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from itertools import count
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from prumo.errors import DataError
from prumo_retina.dataset.folder import without_suffix
from prumo_retina.dataset.table import write_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

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
    # Some file systems do not tell `a.jpg` from `A.jpg`.
    taken = {name.casefold() for name in names.values()}
    for path in added:
        if path not in result:
            name = next(name for name in _possible_names(path) if name.casefold() not in taken)
            taken.add(name.casefold())
            result[path] = name
    return result


def _possible_names(path: str) -> Iterator[str]:
    parts = [_writable(part) for part in PurePosixPath(without_suffix(path)).parts]
    for depth in range(1, len(parts) + 1):
        yield _short("-".join(parts[-depth:]))
    for number in count(2):
        yield f"{_short('-'.join(parts))}-{number}"


def _writable(text: str) -> str:
    return "".join(letter if letter.isprintable() and letter != "\\" else "_" for letter in text)


def _short(name: str) -> str:
    return name.encode()[:_LONGEST_NAME_BYTES].decode(errors="ignore")
