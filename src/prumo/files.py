"""Files that are whole or absent, even when the machine stops in the middle of a write; locks."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from prumo.errors import BusyError, InputError, StorageError


def write_whole(path: Path, content: str | bytes, *, mode: int = 0o666) -> None:
    """Write beside the file, flush to disk, then put it in place by a rename.

    `mode` says who may read it, less what the user's mask forbids.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():
        # A device or a pipe, such as /dev/null, is written to and never replaced.
        path.write_bytes(data)
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb", opener=partial(os.open, mode=mode)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def json_text(content: object, *, indent: int | None = 1) -> str:
    """A document, or a pydantic model, as all JSON of Prumo is written; one line without indent."""
    dump: Callable[..., str] | None = getattr(content, "model_dump_json", None)
    if dump is not None:
        return dump(indent=indent)
    text = json.dumps(content, indent=indent, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # A file's name that is not UTF-8 can only be written with escapes.
        return json.dumps(content, indent=indent)
    return text


def write_json(path: Path, content: object) -> None:
    """Write a document or a pydantic model as a whole file."""
    write_whole(path, json_text(content) + "\n")


def file_sha256(path: Path) -> str:
    """Of a file's content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


@contextmanager
def locked(path: Path, advice: str) -> Iterator[None]:
    """Keep other Prumo processes out of a file's folder; the lock ends with the process.

    Raises:
        BusyError: Another process is there; the message ends with the advice.
    """
    with StorageError.writing(path):
        # A link could lead to a file of somebody else.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(descriptor, 64, 0).decode(errors="replace").strip()
            raise BusyError(
                f"{path.parent} is in use by another prumo (process {holder or 'unknown'}). "
                f"{advice}"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
