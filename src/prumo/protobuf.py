"""Protocol buffers field by field, read and written without any framework.

A search for bytes would not do: whoever wants to hide a field can write its number and its length
in several ways that all readers take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from mmap import mmap
from typing import NamedTuple

VARINT, CONTENT = 0, 2
"""The wire types of whole numbers, and of texts and messages."""
_FIXED_BYTES = {1: 8, 5: 4}
_LONGEST_VARINT = 10
_KEY_BITS = 0xFFFFFFFF
"""Readers drop what is above."""
_GROUP_BITS = 0x7F


class Field(NamedTuple):
    """One field of a message."""

    number: int
    wire_type: int
    value: int
    """Of a whole number, else 0."""
    start: int
    """Where a text or a message begins, and where it ends."""
    end: int


def fields(content: bytes | mmap, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of the message between two places.

    Raises:
        ValueError: It is no message, or written as no program does.
    """
    end = len(content) if end is None else end
    while start < end:
        key, start = read_varint(content, start, end)
        number, wire_type = (key & _KEY_BITS) >> 3, key & 7
        if wire_type == CONTENT:
            size, start = read_varint(content, start, end)
            field = Field(number, wire_type, 0, start, start + size)
        elif wire_type == VARINT:
            value, after = read_varint(content, start, end)
            field = Field(number, wire_type, value, after, after)
        elif wire_type in _FIXED_BYTES:
            after = start + _FIXED_BYTES[wire_type]
            field = Field(number, wire_type, 0, after, after)
        else:
            raise ValueError(f"no field has the type {wire_type}")
        start = field.end
        if start > end:
            raise ValueError("a field is longer than its message")
        yield field


def contents(message: bytes, number: int) -> Iterator[bytes]:
    """The fields of this number that hold bytes: texts and messages within.

    >>> list(contents(field_head(1, 3) + b"cat" + field_head(2, 3) + b"dog", 2))
    [b'dog']
    """
    return (
        message[field.start : field.end]
        for field in fields(message)
        if field.number == number and field.wire_type == CONTENT
    )


def messages(
    content: bytes | mmap, tree: Mapping[str, Mapping[int, str]], kind: str
) -> Iterator[tuple[str, list[Field]]]:
    """Every message below one that fills a file: what it is, and its fields.

    `tree` says for each kind of message which of its fields hold messages, and of which kind;
    `kind` is that of the whole file.

    Raises:
        ValueError: It is no message, or written as no program does.
    """
    left = [(kind, 0, len(content))]
    while left:
        kind, start, end = left.pop()
        found = list(fields(content, start, end))
        yield kind, found
        below = tree.get(kind, {})
        left += [(below[one.number], one.start, one.end) for one in found if one.number in below]


def read_varint(content: bytes | mmap, start: int, end: int) -> tuple[int, int]:
    """A whole number in groups of seven bits, the lowest first, and the place behind it."""
    value = 0
    for place in range(start, min(end, start + _LONGEST_VARINT)):
        value |= (content[place] & _GROUP_BITS) << 7 * (place - start)
        if content[place] <= _GROUP_BITS:
            return value, place + 1
    if end - start < _LONGEST_VARINT:
        raise ValueError("a number ends too early")
    raise ValueError("a number is too long")


def written_varint(value: int) -> bytes:
    """A whole number that is not negative.

    >>> read_varint(written_varint(300), 0, 2)
    (300, 2)
    """
    groups = bytearray()
    while value > _GROUP_BITS:
        groups.append(value & _GROUP_BITS | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def field_head(number: int, length: int) -> bytes:
    """What stands before the bytes of a field: its number, that it holds bytes, and how many."""
    return written_varint(number << 3 | CONTENT) + written_varint(length)
