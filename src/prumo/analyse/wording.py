"""Counts and names as they stand in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.message import Message, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES_SHOWN = 8


def counted(number: int, noun: str) -> Message:
    """A number of things.

    >>> str(counted(1, "run")), str(counted(2, "run"))
    ('1 run', '2 runs')
    """
    return Message(f"{{count}} {noun}", {"count": number}, f"{{count}} {noun}s")


def listed(names: Sequence[object]) -> Message | Series:
    """The first names of a list, and how many there are more."""
    shown = Series(tuple(names[:NAMES_SHOWN]))
    left = len(names) - NAMES_SHOWN
    return (
        Message("{names} and {count} more", {"names": shown, "count": left}) if left > 0 else shown
    )
