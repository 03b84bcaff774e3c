"""What a file's content is known by."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from prumo.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def file_sha256(path: Path) -> str:
    """Of a file's content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
