"""One maker at a time for each thing in the cache, on all processes of a machine."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prumo.cache.folder import RESERVATIONS, cache_error, cache_folder, made_folder
from prumo.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def reserved(
    name: str, *, title: str = "", before_waiting: Callable[[], None] | None = None
) -> Iterator[int]:
    """Hold the name of something in the cache; the kernel lets go when the last holder ends.

    Yields the descriptor that holds it, for child processes that must hold it too. Without
    `before_waiting`, a name that is held elsewhere is an error, which calls it `title`.
    """
    made_folder(RESERVATIONS)
    path = _lock_file(name)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise cache_error(error) from error
    try:
        _hold(descriptor, title or name, before_waiting)
        yield descriptor
    finally:
        os.close(descriptor)


def was_reserved(name: str) -> bool:
    """Whether this name was ever held: a folder of that name is then Prumo's own."""
    return _lock_file(name).exists()


def _lock_file(name: str) -> Path:
    return cache_folder() / RESERVATIONS / f"{name}.lock"


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
