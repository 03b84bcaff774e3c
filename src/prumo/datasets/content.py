"""What the files of a data set hold, as a hash: other files at the same path are another set."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from typing import TYPE_CHECKING

from prumo.cache import cache_folder, made_folder
from prumo.errors import DataError, StorageError
from prumo.files import write_whole
from prumo.progress import ProgressCounter

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from prumo.datasets.source import Source
    from prumo.progress import Progress

CONTENTS = "contents"
SETTLED_SECONDS = 2.0
"""A file that changed later than that may change again without its times showing it."""


class Contents:
    """The contents of data sets; files that did not change since are not read again."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._known: dict[str, str] = {}

    def of(self, source: Source, files: Sequence[Path]) -> str:
        """A hash of the names and contents of these files of a source."""
        stats = [_stat(file) for file in files]
        state = _state(source, files, stats)
        if state not in self._known:
            self._known[state] = _kept(state) or self._read(source, files, stats)
            if max(stat.st_ctime for stat in stats) < time.time() - SETTLED_SECONDS:
                _keep(state, self._known[state])
        return self._known[state]

    def _read(self, source: Source, files: Sequence[Path], stats: Sequence[os.stat_result]) -> str:
        root = source.path if source.path.is_dir() else source.path.parent
        job = f"reading {source.path}"
        total_bytes = sum(stat.st_size for stat in stats)
        self._progress.show(job)
        counter = ProgressCounter(job, total_bytes, "bytes", self._progress)
        pairs, done = [], 0
        for file, stat in zip(files, stats, strict=True):
            pairs.append((file.relative_to(root).as_posix(), _digest(file)))
            done += stat.st_size
            counter.update(done)
        return hash_of([source.kind, list(source.class_names), pairs])


def hash_of(parts: Sequence[object]) -> str:
    """One hash of many parts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _state(source: Source, files: Sequence[Path], stats: Sequence[os.stat_result]) -> str:
    """Changes whenever one of the files does, as far as can be told without reading them."""
    marks = [
        (str(file.absolute()), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        for file, stat in zip(files, stats, strict=True)
    ]
    return hash_of([source.kind, str(source.path), list(source.class_names), marks])


def _stat(file: Path) -> os.stat_result:
    try:
        return file.stat()
    except OSError as error:
        raise _unreadable(file, error) from error


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: OSError) -> DataError:
    return DataError(f"{file}: cannot be read: {error.strerror}")


def _kept(state: str) -> str:
    try:
        return (cache_folder() / CONTENTS / state).read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


def _keep(state: str, content: str) -> None:
    # A cache that cannot be written only costs the reading next time.
    with contextlib.suppress(OSError, StorageError):
        write_whole(made_folder(CONTENTS) / state, content)
