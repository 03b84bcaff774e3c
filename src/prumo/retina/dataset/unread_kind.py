"""Pictures of kinds that are not read: they are inputs, so each has a row that says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prumo.retina.dataset.photograph_folder import PhotographFolder

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
