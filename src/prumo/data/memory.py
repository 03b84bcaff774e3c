"""Whether there is room in memory for what a file announces."""

from __future__ import annotations

from prumo.errors import DataError
from prumo.machine.memory import read_memory


def require_memory(needed_bytes: int, place: object) -> None:
    """Refuse what does not fit; a few bytes of a file can announce any number of them."""
    available_bytes = read_memory().available_bytes
    if needed_bytes > available_bytes:
        raise DataError(
            f"{place}: announces {needed_bytes / 1e9:.1f} GB, more than the "
            f"{available_bytes / 1e9:.1f} GB of memory that are free"
        )
