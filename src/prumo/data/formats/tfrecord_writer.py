"""Writing TFRecord files; `tfrecord.py` reads them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from prumo.data.formats.tfrecord import masked_crc

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_LENGTH, _CHECKSUM = struct.Struct("<Q"), struct.Struct("<I")
_BUFFER_BYTES = 1 << 20


def write_records(path: Path, records: Iterable[bytes]) -> None:
    """Write records one after the other, each with its length and both checksums.

    A file that another process may read meanwhile is to be written elsewhere and renamed.
    """
    with path.open("wb", buffering=_BUFFER_BYTES) as stream:
        for record in records:
            length = _LENGTH.pack(len(record))
            stream.write(length + _CHECKSUM.pack(masked_crc(length)))
            stream.write(record)
            stream.write(_CHECKSUM.pack(masked_crc(record)))


def shard_name(name: str, number: int, count: int) -> str:
    """The usual name of one of several files, numbered from 0.

    >>> shard_name("train", 0, 8)
    'train-00000-of-00008.tfrecord'
    """
    return f"{name}-{number:05d}-of-{count:05d}.tfrecord"
