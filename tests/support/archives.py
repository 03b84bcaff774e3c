"""Archives by hand, also such as no honest program writes."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True)
class Member:
    """A file of an archive, or something that only looks like one."""

    name: str
    content: bytes = b""
    type: bytes = tarfile.REGTYPE
    linkname: str = ""


def members_of(path: Path) -> list[Member]:
    """All files of a good archive."""
    with tarfile.open(path) as archive:
        return [Member(entry.name, _content(archive, entry)) for entry in archive]


def write_members(
    path: Path, members: Iterable[Member], *, form: int = tarfile.USTAR_FORMAT
) -> Path:
    """A tar.gz with exactly these."""
    with tarfile.open(path, "w:gz", format=form) as archive:
        for member in members:
            entry = tarfile.TarInfo(member.name)
            entry.type = member.type
            entry.linkname = member.linkname
            entry.size = len(member.content)
            archive.addfile(entry, io.BytesIO(member.content))
    return path


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(entry)
    return file.read() if file else b""
