"""TFRecord files of encoded images, read with every checksum verified, and written."""

from __future__ import annotations

import gzip
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, ClassVar, TypeVar

import google_crc32c
import numpy as np

from prumo.datasets.image import Encoded, EncodedPictures
from prumo.datasets.source import Source, Subset, reading
from prumo.errors import DataError
from prumo.protobuf import (
    CONTENT,
    VARINT,
    contents,
    field_head,
    fields,
    read_varint,
    written_varint,
)

_NUMBER_BITS = (1 << 64) - 1
"""What a number holds above them is dropped, as protocol buffers do."""

IMAGE, LABEL = "image/encoded", "image/class/label"
_SHARD = re.compile(r"(?P<name>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<ending>.*)")
_NAME = re.compile(r".*\.tfrecords?(\.gz)?|.*-\d{5}-of-\d{5}(\.gz)?")
_HEADER_BYTES, _FOOTER_BYTES = 12, 4
_MOST_BYTES = 1 << 30
_GZIP = b"\x1f\x8b"

_LENGTH, _CHECKSUM = struct.Struct("<Q"), struct.Struct("<I")
_BUFFER_BYTES = 1 << 20

_BYTES_LIST, _INT64_LIST = 1, 3
Value = TypeVar("Value", int, bytes)


def find(path: Path, _dataset: str) -> TfrecordSource | None:
    """One file, or a folder of them; of a folder with a training part, only that."""
    if path.is_file():
        return TfrecordSource(path, (path,)) if _NAME.fullmatch(path.name) else None
    files = sorted(file for file in path.iterdir() if _NAME.fullmatch(file.name))
    training = [file for file in files if file.name.startswith("train")]
    return TfrecordSource(path, tuple(training or files)) if files else None


@dataclass(frozen=True)
class TfrecordSource(Source):
    """The records of one or more files, in the order of their names."""

    found: tuple[Path, ...]
    kind: ClassVar[str] = "TFRecord"

    def files(self, _subset: Subset) -> Sequence[Path]:
        """All files, whatever the subset: labels lie beside the images."""
        return self.found

    def read(self) -> EncodedPictures:
        """Go through all records once for their labels; images are read again when needed."""
        _require_all_shards(self.found)
        labels: np.ndarray = np.array(
            [
                _only(example.numbers.get(LABEL, []), f"{name}: needs one number as {LABEL}")
                for name, example in read_examples(self.found)
            ],
            dtype=np.int64,
        )

        def encoded(positions: Sequence[int]) -> Iterator[Encoded]:
            wanted = set(positions)
            some = islice(read_examples(self.found), max(positions, default=-1) + 1)
            for position, (name, example) in enumerate(some):
                if position in wanted:
                    images = example.texts.get(IMAGE, [])
                    yield name, partial(_only, images, f"{name}: needs one image as {IMAGE}")

        return EncodedPictures(labels, encoded)


def read_examples(files: Sequence[Path]) -> Iterator[tuple[str, Example]]:
    """Every record of some files, its checksums checked, with a name for whoever complains."""
    for file in files:
        for number, record in enumerate(_records(file), start=1):
            name = f"{file}: record {number}"
            try:
                yield name, read_example(record)
            except ValueError as error:
                raise DataError(f"{name}: is not a tf.train.Example: {error}") from error


def _records(file: Path) -> Iterator[bytes]:
    with reading(file):
        with file.open("rb") as stream:
            start = stream.read(_HEADER_BYTES)
        # Gzip's mark may also be the chance length of a first record.
        is_gzip = start.startswith(_GZIP) and not _is_right(start[:8], start[8:])
        with gzip.open(file) if is_gzip else file.open("rb") as records:
            number = 1
            while header := records.read(_HEADER_BYTES):
                yield _record(header, records, f"{file}: record {number}")
                number += 1


def _record(header: bytes, stream: IO[bytes] | gzip.GzipFile, name: str) -> bytes:
    """One record: its length and that length's checksum, its content and the content's checksum."""
    if len(header) < _HEADER_BYTES:
        raise DataError(f"{name}: ends within its length")
    # Checked first: a wrong length could ask for all memory.
    if not _is_right(header[:8], header[8:]):
        raise DataError(f"{name}: the checksum of its length is wrong")
    (length,) = _LENGTH.unpack(header[:8])
    if length > _MOST_BYTES:
        raise DataError(f"{name}: {length} bytes are more than a record may have")
    content = stream.read(length)
    checksum = stream.read(_FOOTER_BYTES)
    if len(content) < length or len(checksum) < _FOOTER_BYTES:
        raise DataError(f"{name}: ends before its {length} bytes do")
    if not _is_right(content, checksum):
        raise DataError(f"{name}: the checksum of its content is wrong")
    return content


def _is_right(content: bytes, checksum: bytes) -> bool:
    return _CHECKSUM.pack(masked_crc(content)) == checksum


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


@dataclass(frozen=True)
class Example:
    """Features by name: lists of bytes and lists of whole numbers; others are left out."""

    texts: dict[str, list[bytes]] = field(default_factory=dict)
    numbers: dict[str, list[int]] = field(default_factory=dict)


def read_example(message: bytes) -> Example:
    """Read a serialized example; ValueError says why it is none."""
    example = Example()
    for features in contents(message, 1):
        for entry in contents(features, 1):
            name = b"".join(contents(entry, 1)).decode()
            for feature in contents(entry, 2):
                for values in contents(feature, 1):
                    example.texts.setdefault(name, []).extend(contents(values, 1))
                for values in contents(feature, 3):
                    example.numbers.setdefault(name, []).extend(_numbers(values))
    return example


def _numbers(message: bytes) -> Iterator[int]:
    """Whole numbers in field 1, one by one or packed together."""
    for part in fields(message):
        if part.number != 1:
            continue
        if part.wire_type == VARINT:
            yield _signed(part.value)
        elif part.wire_type == CONTENT:
            place = part.start
            while place < part.end:
                number, place = read_varint(message, place, part.end)
                yield _signed(number)


def _signed(value: int) -> int:
    value &= _NUMBER_BITS
    return value - (1 << 64) if value >> 63 else value


def masked_crc(content: bytes) -> int:
    """The CRC-32C of some bytes, turned as TFRecord stores it."""
    crc: int = google_crc32c.value(content)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _only(values: Sequence[Value], need: str) -> Value:
    if len(values) != 1:
        raise DataError(f"{need}; has {len(values)}")
    return values[0]


def _require_all_shards(files: Sequence[Path]) -> None:
    there = {file.name for file in files}
    for file in files:
        shard = _SHARD.fullmatch(file.name)
        if shard is None or len(files) == 1:
            continue
        for number in range(int(shard["count"])):
            expected = f"{shard['name']}-{number:05d}-of-{shard['count']}{shard['ending']}"
            if expected not in there:
                raise DataError(f"{file.parent}: has {file.name} and lacks {expected}")


def shard_name(name: str, number: int, count: int) -> str:
    """The usual name of one of several files, numbered from 0.

    >>> shard_name("train", 0, 8)
    'train-00000-of-00008.tfrecord'
    """
    return f"{name}-{number:05d}-of-{count:05d}.tfrecord"


def written_example(example: Example) -> bytes:
    """Serialize an example; features that were given in the same order give the same bytes."""
    parts: list[bytes] = []
    for name, texts in example.texts.items():
        values = [part for text in texts for part in (field_head(1, len(text)), text)]
        parts += _feature(name, _BYTES_LIST, values)
    for name, numbers in example.numbers.items():
        packed = b"".join(written_varint(number & _NUMBER_BITS) for number in numbers)
        parts += _feature(name, _INT64_LIST, [field_head(1, len(packed)), packed])
    # Joined once at the very end, so that an image is copied once and not at every level.
    return b"".join((field_head(1, sum(map(len, parts))), *parts))


def _feature(name: str, kind: int, values: list[bytes]) -> list[bytes]:
    """An entry of the map of features: the name, and the feature that holds a list of a kind."""
    length = sum(map(len, values))
    list_head = field_head(kind, length)
    key = name.encode()
    entry = field_head(1, len(key)) + key + field_head(2, len(list_head) + length) + list_head
    return [field_head(1, len(entry) + length) + entry, *values]
