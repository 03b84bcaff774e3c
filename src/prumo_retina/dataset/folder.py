"""What a folder holds: photographs, tables that may label them, and the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo_retina.dataset.data_folder import is_prepared
from prumo_retina.photograph import SUFFIXES, is_photograph_file
from prumo_serve.image_folder import shown_name, walk_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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
    files = list(_files(path, output, left_out))
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


def _files(root: Path, output: Path | None, left_out: list[str]) -> Iterator[Path]:
    def why_skip(folder: Path) -> str:
        if _is_same(folder, output):
            return "is written to"
        return "holds prepared photographs" if is_prepared(folder) else ""

    return walk_files(root, why_skip, left_out)


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
