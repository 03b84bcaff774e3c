"""A commented study to begin with."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from prumo.errors import InputError, StorageError

if TYPE_CHECKING:
    from pathlib import Path

StarterKind = Literal["training", "command"]
STARTER_KINDS: tuple[StarterKind, ...] = ("training", "command")


def write_starter(path: Path, kind: StarterKind, *, replace: bool = False) -> None:
    """Write a starter study that plans and runs as it is."""
    try:
        with path.open("w" if replace else "x", encoding="utf-8") as stream:
            stream.write(_starter(kind, _study_name(path)))
    except FileExistsError:
        raise InputError(f"{path} is already there; --force replaces it") from None
    except FileNotFoundError:
        raise InputError(f"there is no folder {path.parent}") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from None


def _starter(kind: StarterKind, name: str) -> str:
    template = files("prumo.study").joinpath("starters", f"{kind}.yaml").read_text("utf-8")
    return template.replace("name: starter\n", f'name: "{name}"\n', 1)


def _study_name(path: Path) -> str:
    """The file's name as a study may be called."""
    name = re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip("-._")[:100]
    return name or "study"
