"""Known data sets and their downloads: continued where they stopped, checked before use."""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import io
import os
import re
import tomllib
import urllib.error
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from prumo.errors import BusyError, DownloadError, InputError, StorageError, did_you_mean
from prumo.http import SCHEMES, BrokenConnectionError, RetryPolicy, chunks, opened, retry
from prumo.progress import SILENT, Progress, ProgressCounter
from prumo_worker.data import CATALOG

PARTIAL = ".part"
# At once: what was fetched is kept, and the next request only asks for the rest.
_RETRIES = RetryPolicy(attempts=3, first_wait_seconds=0.0)
_CONTENT_RANGE = re.compile(r"bytes (\d+)-")


@dataclass(frozen=True)
class Known:
    """What is known of a data set's training part."""

    name: str
    images: int
    channels: int
    image_size: int
    classes: int
    home: str | None
    """Its home page; none if it cannot be fetched."""


def known_sets() -> list[Known]:
    """Every data set that a study can name without bringing it."""
    homes = {name: offer.home for name, offer in offers().items()}
    return [
        Known(name, card.images, card.channels, card.image_size, card.classes, homes.get(name))
        for name, card in CATALOG.items()
    ]


@dataclass(frozen=True)
class RemoteFile:
    """A file that is known by its checksum, wherever it is."""

    name: str
    bytes: int
    md5: str


@dataclass(frozen=True)
class Offer:
    """Where a data set can be fetched, and which files it has."""

    home: str
    mirrors: tuple[str, ...]
    files: tuple[RemoteFile, ...]


@cache
def offers() -> Mapping[str, Offer]:
    """The data sets that can be fetched, by name."""
    text = files("prumo.datasets").joinpath("downloads.toml").read_text(encoding="utf-8")
    return {
        name: Offer(
            entry["home"],
            tuple(entry["mirrors"]),
            tuple(RemoteFile(**file) for file in entry["files"]),
        )
        for name, entry in tomllib.loads(text).items()
    }


def fetch(
    name: str, folder: Path, places: Sequence[str] = (), progress: Progress = SILENT
) -> list[Path]:
    """Bring the files of a data set into a folder; `places` come instead of the known ones."""
    offer = offers().get(name)
    if offer is None:
        raise InputError(f"no data set '{name}' can be fetched; {did_you_mean(name, offers())}")
    for file in offer.files:
        counter = ProgressCounter(f"fetching {file.name}", file.bytes, "bytes", progress)
        if download(file, places or (offer.home, *offer.mirrors), folder, counter.update):
            counter.finish()
        else:
            progress.say(f"{folder / file.name} is there already")
    return [folder / file.name for file in offer.files]


def download(
    file: RemoteFile, places: Sequence[str], folder: Path, report: Callable[[int], None]
) -> bool:
    """Bring a file into a folder, from the first place that gives it; False if it was there.

    `report` is called with how many bytes are there so far. What was fetched of a file stays
    beside it as `.part`, and the next call goes on from there.
    """
    target = folder / file.name
    if target.is_file():
        with target.open("rb") as there:
            if _md5(there) == file.md5:
                return False
    partial = folder / f"{file.name}{PARTIAL}"
    reasons = []
    with _growing(partial) as stream:
        if stream.seek(0, os.SEEK_END) >= file.bytes:
            # As many bytes or more of something else are forgotten.
            with suppress(_Wrong):
                _check(file, stream)
                partial.replace(target)
                return True
        for place in places:
            url = f"{place.rstrip('/')}/{file.name}"
            try:
                _fetch(url, file, stream, report)
            except _Refused as reason:
                reasons.append(f"\n  {url}: {reason}")
            else:
                partial.replace(target)
                return True
    raise DownloadError(f"{file.name} could not be fetched:{''.join(reasons)}")


@contextmanager
def _growing(path: Path) -> Iterator[io.BufferedRandom]:
    """The file that is filled, kept from other processes; an empty one does not stay behind."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _held(path) as stream:
            try:
                yield stream
            finally:
                if not stream.seek(0, os.SEEK_END):
                    path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}; what was fetched is kept: make room "
            "and call it again, or give another folder with --to"
        ) from error


def _held(path: Path) -> io.BufferedRandom:
    """The file at a path, locked until it is closed."""
    while True:
        stream = path.open("a+b")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            stream.close()
            raise BusyError(f"{path} is being fetched by another process") from error
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                return stream
        # Whoever held it before has finished and renamed or deleted it since it was opened.
        stream.close()


def _fetch(
    url: str, file: RemoteFile, stream: io.BufferedRandom, report: Callable[[int], None]
) -> None:
    """Fill the stream from a URL; if what was there does not fit to it, from the beginning."""
    if not url.startswith(SCHEMES):
        raise InputError(f"{url}: only http and https addresses can be fetched from")
    was_begun = stream.seek(0, os.SEEK_END) > 0
    try:
        _fill(url, file, stream, report)
    except _Wrong:
        if not was_begun:
            raise
        _fill(url, file, stream, report)


def _fill(
    url: str, file: RemoteFile, stream: io.BufferedRandom, report: Callable[[int], None]
) -> None:
    """All that is missing; a broken connection is taken up again a few times."""
    try:
        retry(lambda: _receive(url, file, stream, report), _RETRIES)
    except BrokenConnectionError as error:
        raise _Refused(f"{error}, {_RETRIES.attempts} times") from error
    _check(file, stream)


def _receive(
    url: str, file: RemoteFile, stream: io.BufferedRandom, report: Callable[[int], None]
) -> None:
    """What one answer gives, at the end of the stream."""
    start = stream.seek(0, os.SEEK_END)
    try:
        answer = opened(url, {"Range": f"bytes={start}-"} if start else {})
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
            _empty(stream)
            raise BrokenConnectionError("what was there is longer than the file") from error
        raise _Refused(f"{error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise _Refused(str(error.reason)) from error
    except (ValueError, http.client.InvalidURL) as error:
        raise _Refused(f"is not an address: {error}") from error
    except (OSError, http.client.HTTPException) as error:
        raise BrokenConnectionError(f"no answer: {error}") from error
    with answer:
        if start and not _continues(answer, start):
            _empty(stream)
        for chunk in chunks(answer):
            if stream.tell() + len(chunk) > file.bytes:
                _empty(stream)
                raise _Wrong(f"gave more than the published {file.bytes} bytes")
            stream.write(chunk)
            report(stream.tell())
    stream.flush()


def _continues(answer: http.client.HTTPResponse, start: int) -> bool:
    """Whether the server gives the rest that was asked for; many give the whole file instead."""
    if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
        return False
    given = _CONTENT_RANGE.match(answer.headers.get("Content-Range", ""))
    if given is None or int(given[1]) != start:
        raise _Refused("the server continued the file at another place than asked")
    return True


def _check(file: RemoteFile, stream: io.BufferedRandom) -> None:
    """Refuse a file that is not the published one, and forget it."""
    stream.seek(0)
    md5 = _md5(stream)
    if md5 != file.md5:
        size = stream.seek(0, os.SEEK_END)
        _empty(stream)
        raise _Wrong(f"gave {size} bytes with the MD5 sum {md5}, not the published {file.md5}")
    os.fsync(stream.fileno())


def _empty(stream: io.BufferedRandom) -> None:
    stream.seek(0)
    stream.truncate()


def _md5(stream: io.BufferedReader | io.BufferedRandom) -> str:
    digest = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False))
    return digest.hexdigest()


class _Refused(Exception):  # noqa: N818 (an answer, not a mistake of ours)
    """One place does not have the file, or has another one."""


class _Wrong(_Refused):
    """What came is not the published file; nothing of it is kept."""
