"""Writing tf.train.Example; `example.py` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prumo.data.formats.example import Example

_BYTES_LIST, _INT64_LIST = 1, 3
_MOST_GROUP = 0x7F
_MOST_NUMBER = (1 << 64) - 1


def written_example(example: Example) -> bytes:
    """Serialize an example; features that were given in the same order give the same bytes."""
    parts: list[bytes] = []
    for name, texts in example.texts.items():
        parts += _feature(name, _BYTES_LIST, _texts(texts))
    for name, numbers in example.numbers.items():
        parts += _feature(name, _INT64_LIST, _numbers(numbers))
    # Joined once at the very end, so that an image is copied once and not at every level.
    return b"".join((_head(1, sum(map(len, parts))), *parts))


def _feature(name: str, kind: int, values: list[bytes]) -> list[bytes]:
    """An entry of the map of features: the name, and the feature that holds a list of a kind."""
    length = sum(map(len, values))
    list_head = _head(kind, length)
    key = name.encode()
    entry = _head(1, len(key)) + key + _head(2, len(list_head) + length) + list_head
    return [_head(1, len(entry) + length) + entry, *values]


def _texts(texts: list[bytes]) -> list[bytes]:
    return [part for text in texts for part in (_head(1, len(text)), text)]


def _numbers(numbers: list[int]) -> list[bytes]:
    packed = b"".join(_varint(number & _MOST_NUMBER) for number in numbers)
    return [_head(1, len(packed)), packed]


def _head(number: int, length: int) -> bytes:
    """What stands before the bytes of a field: its number, that it holds bytes, and how many."""
    return bytes((number << 3 | 2,)) + _varint(length)


def _varint(value: int) -> bytes:
    groups = bytearray()
    while value > _MOST_GROUP:
        groups.append(value & _MOST_GROUP | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)
