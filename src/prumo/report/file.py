"""Files that a report leaves behind."""

from __future__ import annotations

from pathlib import Path

from prumo.errors import StorageError
from prumo.files import write_whole


def write_file(path: Path, content: str | bytes) -> Path:
    """Write a file whole, making its folder where there is none; its path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise StorageError.on_writing(path, error) from error
    return path
