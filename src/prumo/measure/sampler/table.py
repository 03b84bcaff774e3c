"""The table of samples: a CSV file that holds whole rows only, even on a full disk."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Table:
    """A file that grows by one row at a time, each handed to the system at once."""

    def __init__(self, path: str, columns: Sequence[str]) -> None:
        self.lost = 0
        """Rows that could not be written."""
        self._descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644
        )
        self._decimals = [0 if column.endswith("_bytes") else 3 for column in columns]
        self._length = 0
        self._full = False
        self._append(",".join(columns))

    def write(self, row: Sequence[float]) -> None:
        """Add a row, or count it as lost once the disk has refused one."""
        cells = zip(row, self._decimals, strict=True)
        self._append(",".join(_cell(value, decimals) for value, decimals in cells))
        self.lost += self._full

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _append(self, line: str) -> None:
        if self._full:
            return
        data = f"{line}\n".encode()
        try:
            written = os.write(self._descriptor, data)
        except OSError:
            written = 0
        if written == len(data):
            self._length += written
        else:
            self._full = True
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._length)


def _cell(value: float, decimals: int) -> str:
    return f"{value:.{decimals}f}" if math.isfinite(value) else ""
