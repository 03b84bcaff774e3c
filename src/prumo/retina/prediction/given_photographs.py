"""What a user points at: photographs, folders of them, and patterns, each photograph once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.retina.dataset.photograph_folder import find_photographs
from prumo.retina.dataset.unread_kind import with_unread_kinds

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class GivenPhotographs:
    """What was found under the given words."""

    files: tuple[Path, ...]
    not_looked_at: tuple[str, ...]
    """Other files and folders in the given folders, by their printable names."""


def given_photographs(words: Sequence[str], left_out: Path | None = None) -> GivenPhotographs:
    """The photographs in the order of the words; what is named twice comes once.

    Args:
        words: Paths of files and folders, or patterns that no shell has replaced.
        left_out: A folder whose pictures are none, such as that of heat maps.

    Raises:
        InputError: A word names nothing, or a folder without photographs.
    """
    once: dict[Path, Path] = {}
    others: dict[str, None] = {}
    for word in words:
        for path in _named(word):
            found = _found(path, left_out)
            others.update(dict.fromkeys(found.not_looked_at))
            for file in found.files:
                once.setdefault(file.resolve(), file)
    return GivenPhotographs(tuple(once.values()), tuple(others))


def printable(name: Path | str) -> str:
    """A name as text that can be written and does nothing to a terminal, whatever bytes it has."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def _named(word: str) -> list[Path]:
    path = Path(word)
    if not word:
        raise InputError("an empty name was given where a photograph should be")
    if path.exists():
        return [path]
    try:
        matches = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    except ValueError:
        # Such as a**b, which is no pattern.
        matches = []
    if not matches:
        raise InputError(f"there is no file {printable(word)}")
    return matches


def _found(path: Path, left_out: Path | None) -> GivenPhotographs:
    if not path.is_dir():
        return GivenPhotographs((path,), ())
    if left_out is not None and left_out.exists() and path.samefile(left_out):
        raise InputError(f"{path} is the folder that heat maps are written to; give another one")
    folder = with_unread_kinds(find_photographs(path, left_out))
    # Labels are of no use here.
    others = [*folder.tables, *(path / name for name in folder.others)]
    names = [*map(printable, others), *map(printable, folder.left_out)]
    return GivenPhotographs(tuple(folder.photographs.values()), tuple(names))
