"""Whether files on disk are still those that were read."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_LEAST_SECONDS_BETWEEN = 1.0


class FileWatch:
    """Looks only when it is asked, and not more than once in a second: an idle server rests."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._seen = {file: _mark(file) for file in files}
        self._looked = monotonic()
        self._changed = ""

    def changed(self) -> str:
        """The name of a file that was changed, replaced or removed; empty where none was.

        One that was changed stays so: nobody knows what was read of it.
        """
        if not self._changed and monotonic() - self._looked >= _LEAST_SECONDS_BETWEEN:
            self._looked = monotonic()
            different = (file.name for file, mark in self._seen.items() if _mark(file) != mark)
            self._changed = next(different, "")
        return self._changed


def _mark(file: Path) -> tuple[int, ...] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
