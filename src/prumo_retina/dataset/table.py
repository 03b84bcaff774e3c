"""Tables on disk: CSV files that are whole or absent."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from prumo.errors import StorageError
from prumo.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

EVERYBODY = 0o666
"""As far as the user's mask lets them."""


def write_table(
    path: Path, heads: Sequence[str], rows: Iterable[Iterable[object]], mode: int = EVERYBODY
) -> None:
    """Write a table; StorageError says why it cannot be."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    try:
        write_whole(path, text.getvalue(), mode=mode)
    except OSError as error:
        raise StorageError.on_writing(path, error) from error
