"""Protocol buffers field by field, for a look into a network's file without any framework.

A search for bytes would not do: whoever wants to hide a field can write its number and its length
in several ways that all readers take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from mmap import mmap

_NUMBER, _CONTENT = 0, 2
_FIXED_BYTES = {1: 8, 5: 4}
_LONGEST_NUMBER = 10
_KEY_BITS = 0xFFFFFFFF
"""Readers drop what is above."""


class Field(NamedTuple):
    """One field of a message."""

    number: int
    value: int
    """Of a whole number, else 0."""
    start: int
    """Where a text or a message begins, and where it ends."""
    end: int


def messages(
    content: bytes | mmap, tree: Mapping[str, Mapping[int, str]], kind: str
) -> Iterator[tuple[str, list[Field]]]:
    """Every message below one that fills a file: what it is, and its fields.

    Args:
        content: Of the file.
        tree: For each kind of message which of its fields hold messages, and of which kind.
        kind: Of the file's message.

    Raises:
        ValueError: It is no message, or written as no program does.
    """
    left = [(kind, 0, len(content))]
    while left:
        kind, start, end = left.pop()
        found = list(_fields(content, start, end))
        yield kind, found
        below = tree.get(kind, {})
        left += [(below[one.number], one.start, one.end) for one in found if one.number in below]


def _fields(content: bytes | mmap, start: int, end: int) -> Iterator[Field]:
    while start < end:
        key, start = _number(content, start, end)
        number, form = (key & _KEY_BITS) >> 3, key & 7
        if form == _CONTENT:
            size, start = _number(content, start, end)
            field = Field(number, 0, start, start + size)
        elif form == _NUMBER:
            value, after = _number(content, start, end)
            field = Field(number, value, after, after)
        elif form in _FIXED_BYTES:
            after = start + _FIXED_BYTES[form]
            field = Field(number, 0, after, after)
        else:
            raise ValueError("a field has a form that is no longer in use")
        start = field.end
        if start > end:
            raise ValueError("a field is longer than its message")
        yield field


def _number(content: bytes | mmap, start: int, end: int) -> tuple[int, int]:
    """A whole number, seven bits in a byte, and where it ends."""
    value = 0
    for place in range(start, min(end, start + _LONGEST_NUMBER)):
        value |= (content[place] & 0x7F) << 7 * (place - start)
        if content[place] < 0x80:  # noqa: PLR2004 (the bit that says whether more follow)
            return value, place + 1
    raise ValueError("a number has no end")
