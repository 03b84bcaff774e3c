"""The user's cache: what Prumo can make again and so keeps outside any project."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import platformdirs

from prumo.errors import StorageError

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
