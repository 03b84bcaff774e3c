"""A tar.gz that is the same for the same files, and one from strangers that can do no harm.

Only plain headers are read, not through `tarfile`'s own loop: that one follows links and keeps
extended headers of any size in memory.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING

from prumo.errors import InputError, StorageError
from prumo_serve.manifest import MANIFEST_FILE
from prumo_serve.package.content import MAX_FILES, require_known

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ENDINGS = (".tar.gz", ".tgz")
MAX_BYTES = 8 * 1024**3
"""Ours: the largest networks of this trade have two."""
_MAX_SWELLING = 100
"""Ours: weights shrink to nine tenths when packed, those of eight bits to a half."""
_FREE_BYTES = 16 * 1024**2
"""Small archives may swell more: text does."""
_LEVEL = 6
_CHUNK = 1024 * 1024
_TYPES = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
}


def is_archive_name(path: Path) -> bool:
    """Whether a file's name is that of an archive."""
    return path.name.endswith(ENDINGS)


def pack(manifest: bytes, folder: Path, names: Sequence[str], out: IO[bytes]) -> None:
    """Write files of a folder as tar.gz, without anything of the machine, the user or the hour.

    The manifest comes first: whoever only wants that need not read on.
    """
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=out, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        archive.addfile(_member(MANIFEST_FILE, len(manifest)), io.BytesIO(manifest))
        for name in names:
            with (folder / name).open("rb") as file:
                archive.addfile(_member(name, (folder / name).stat().st_size), file)


def unpack(path: Path, folder: Path) -> None:
    """Write an archive's files into an empty folder.

    Raises:
        InputError: It is no tar.gz, is not whole, swells too much, or has something in it that is
            no ordinary file of a package.
    """
    try:
        limit = min(MAX_BYTES, path.stat().st_size * _MAX_SWELLING + _FREE_BYTES)
        with gzip.open(path, "rb") as packed:
            _unpack(_BoundedReader(packed, limit, path), folder, path)
    except (gzip.BadGzipFile, EOFError, zlib.error, tarfile.TarError) as error:
        raise InputError(f"{path} is no whole tar.gz archive: {error}") from error
    except OSError as error:
        raise StorageError(f"{path} cannot be unpacked: {error.strerror or error}") from error


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o644
    return member


class _BoundedReader:
    """What a stream gives, up to a limit."""

    def __init__(self, stream: gzip.GzipFile, limit_bytes: int, shown: Path) -> None:
        self._stream = stream
        self._left = limit_bytes
        self._shown = shown

    def read(self, count: int) -> bytes:
        """At most so many bytes; fewer only at the end."""
        content = self._stream.read(count)
        self._left -= len(content)
        if self._left < 0:
            raise InputError(
                f"{self._shown} would swell to far more than a model has: not unpacked any further"
            )
        return content

    def chunks(self, count: int) -> Iterator[bytes]:
        """Exactly so many bytes, a part at a time."""
        while count > 0:
            content = self.read(min(count, _CHUNK))
            if not content:
                raise EOFError("it ends in the middle of a file")
            count -= len(content)
            yield content


def _unpack(reader: _BoundedReader, folder: Path, shown: Path) -> None:
    seen: set[str] = set()
    while (member := _next_member(reader)) is not None:
        name = _safe_name(member, shown)
        if name in seen:
            raise InputError(f"{shown} has {name!r} twice")
        seen.add(name)
        if len(seen) > MAX_FILES:
            raise InputError(f"{shown} has more than {MAX_FILES} files: it is no package")
        if not member.isdir():
            require_known(name, shown)
            _write(reader, member.size, folder / name)
    for content in iter(lambda: reader.read(_CHUNK), b""):
        if content.strip(b"\0"):
            raise InputError(f"{shown} has something behind its end")


def _next_member(reader: _BoundedReader) -> tarfile.TarInfo | None:
    header = b"".join(reader.chunks(tarfile.BLOCKSIZE))
    if not header.strip(b"\0"):
        return None
    return tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")


def _safe_name(member: tarfile.TarInfo, shown: Path) -> str:
    """The member's name, if it is an ordinary file or folder below the archive's own."""
    if member.type in _TYPES:
        raise InputError(f"{shown}: {member.name!r} is {_TYPES[member.type]}; a package has none")
    if not (member.type in {tarfile.REGTYPE, tarfile.AREGTYPE} or member.isdir()):
        raise InputError(
            f"{shown} has headers that go beyond plain tar; pack it with `prumo model package`, or "
            "with tar --format=ustar"
        )
    if member.size < 0 or (member.isdir() and member.size):
        raise InputError(f"{shown}: {member.name!r} has a size that cannot be")
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or "\\" in member.name or "\0" in member.name:
        raise InputError(f"{shown}: {member.name!r} would be written outside of the package")
    return path.as_posix()


def _write(reader: _BoundedReader, size: int, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        for content in reader.chunks(size):
            file.write(content)
    for _ in reader.chunks(-size % tarfile.BLOCKSIZE):
        pass
