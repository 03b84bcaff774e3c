"""tf.train.Example, as much of the protocol-buffer format as it needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_SHIFT = 63
_MOST_NUMBER = (1 << 64) - 1
"""Of 64 bits; what the last group holds above them is dropped, as protocol buffers do."""


@dataclass(frozen=True)
class Example:
    """Features by name: lists of bytes and lists of whole numbers; others are left out."""

    texts: dict[str, list[bytes]] = field(default_factory=dict)
    numbers: dict[str, list[int]] = field(default_factory=dict)


def read_example(message: bytes) -> Example:
    """Read a serialized example; ValueError says why it is none."""
    example = Example()
    for features in _parts(message, 1):
        for entry in _parts(features, 1):
            name = b"".join(_parts(entry, 1)).decode()
            for feature in _parts(entry, 2):
                for values in _parts(feature, 1):
                    example.texts.setdefault(name, []).extend(_parts(values, 1))
                for values in _parts(feature, 3):
                    example.numbers.setdefault(name, []).extend(_numbers(values))
    return example


def _parts(message: bytes, number: int) -> Iterator[bytes]:
    """The fields of this number that hold bytes: texts and messages within."""
    return (
        value for found, value in _fields(message) if found == number and isinstance(value, bytes)
    )


def _numbers(message: bytes) -> Iterator[int]:
    """Whole numbers in field 1, one by one or packed together."""
    for found, value in _fields(message):
        if found != 1:
            continue
        if isinstance(value, int):
            yield _signed(value)
            continue
        place = 0
        while place < len(value):
            number, place = _varint(value, place)
            yield _signed(number)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            length, place = _varint(message, place)
        elif kind in {_FIXED64, _FIXED32}:
            length = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"no field has the type {kind}")
        if place + length > len(message):
            raise ValueError("a field is longer than its message")
        yield key >> 3, message[place : place + length]
        place += length


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """A number in groups of seven bits, the lowest first, and the place behind it."""
    value = 0
    for shift in range(0, _MOST_SHIFT + 1, 7):
        if place >= len(message):
            raise ValueError("a number ends too early")
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 (the mark of a group that is followed by another)
            return value & _MOST_NUMBER, place
    raise ValueError("a number is too long")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
