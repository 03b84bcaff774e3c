"""The user's cache: where it is, and who may write in it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from prumo.errors import BusyError, StorageError

COMPANIONS = "companions"
ENVIRONMENTS = "environments"
LOGS = "logs"
RESERVATIONS = "reservations"
WORKER = "worker"


def cache_folder() -> Path:
    """`PRUMO_CACHE`, or the place that the operating system has for caches."""
    named = os.environ.get("PRUMO_CACHE")
    return Path(named).expanduser().absolute() if named else platformdirs.user_cache_path("prumo")


def made_folder(part: str) -> Path:
    """A folder of the cache, made if it is not there."""
    folder = cache_folder() / part
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cache_error(error) from error
    return folder


def subfolders(part: str) -> list[Path]:
    """The folders that lie in a folder of the cache, by name; none where there is no such."""
    try:
        return sorted(path for path in (cache_folder() / part).iterdir() if path.is_dir())
    except OSError:
        return []


def discard(folder: Path, marker: str) -> None:
    """Delete a folder, first the file that makes it count: it is never half there and usable."""
    try:
        (folder / marker).unlink(missing_ok=True)
        if folder.is_dir():
            shutil.rmtree(folder)
    except OSError as error:
        raise cache_error(error) from error


def cache_error(error: OSError) -> StorageError:
    """The error for a cache that cannot be written, with the way out."""
    reason = error.strerror or str(error)
    return StorageError(
        f"cannot write in the cache {error.filename or cache_folder()}: {reason}; "
        "PRUMO_CACHE can name another folder"
    )


@contextmanager
def reserved(
    name: str, *, title: str = "", before_waiting: Callable[[], None] | None = None
) -> Iterator[int]:
    """Hold the name of something in the cache; the kernel lets go when the last holder ends.

    Yields the descriptor that holds it, for child processes that must hold it too. Without
    `before_waiting`, a name that is held elsewhere is an error, which calls it `title`.
    """
    try:
        descriptor = os.open(
            made_folder(RESERVATIONS) / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o644
        )
    except OSError as error:
        raise cache_error(error) from error
    try:
        _hold(descriptor, title or name, before_waiting)
        yield descriptor
    finally:
        os.close(descriptor)


def was_reserved(name: str) -> bool:
    """Whether this name was ever held: a folder of that name is then Prumo's own."""
    return (cache_folder() / RESERVATIONS / f"{name}.lock").exists()


def _hold(descriptor: int, title: str, before_waiting: Callable[[], None] | None) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        if before_waiting is None:
            raise BusyError(f"{title} is being made or removed by another process") from error
        before_waiting()
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        raise cache_error(error) from error
