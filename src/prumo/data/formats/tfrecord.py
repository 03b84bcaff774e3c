"""TFRecord files of encoded images, every record checked against its checksum."""

from __future__ import annotations

import gzip
import re
import struct
import zlib
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, ClassVar

import google_crc32c
import numpy as np

from prumo.data.encoded import EncodedPictures
from prumo.data.formats.example import Example, read_example
from prumo.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from prumo.data.source import Subset

IMAGE, LABEL = "image/encoded", "image/class/label"
_SHARD = re.compile(r"(?P<name>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<ending>.*)")
_NAME = re.compile(r".*\.tfrecords?(\.gz)?|.*-\d{5}-of-\d{5}(\.gz)?")
_HEADER_BYTES, _FOOTER_BYTES = 12, 4
_MOST_BYTES = 1 << 30
_GZIP = b"\x1f\x8b"


def find(path: Path, dataset: str) -> TfrecordSource | None:
    """One file, or a folder of them; of a folder with a training part, only that."""
    del dataset
    if path.is_file():
        return TfrecordSource(path, (path,)) if _NAME.fullmatch(path.name) else None
    files = sorted(file for file in path.iterdir() if _NAME.fullmatch(file.name))
    training = [file for file in files if file.name.startswith("train")]
    return TfrecordSource(path, tuple(training or files)) if files else None


@dataclass(frozen=True)
class TfrecordSource:
    """The records of one or more files, in the order of their names."""

    path: Path
    found: tuple[Path, ...]
    kind: ClassVar[str] = "TFRecord"
    class_names: ClassVar[Sequence[str]] = ()

    def files(self, subset: Subset) -> Sequence[Path]:
        """All files, whatever the subset: labels lie beside the images."""
        del subset
        return self.found

    def read(self) -> EncodedPictures:
        """Go through all records once for their labels; images are read again when needed."""
        _require_all_shards(self.found)
        labels: np.ndarray = np.array(
            [_label(name, example) for name, example in read_examples(self.found)], dtype=np.int64
        )

        def encoded(positions: Sequence[int]) -> Iterator[tuple[str, Callable[[], bytes]]]:
            wanted = iter(positions)
            following = next(wanted, None)
            for position, (name, example) in enumerate(read_examples(self.found)):
                if following is None:
                    return
                if position == following:
                    yield name, partial(_image, name, example)
                    following = next(wanted, None)

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
    try:
        with gzip.open(file) if _is_gzip(file) else file.open("rb") as stream:
            number = 1
            while header := stream.read(_HEADER_BYTES):
                yield _record(header, stream, f"{file}: record {number}")
                number += 1
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{file}: is not whole: {error}") from error
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from error


def _is_gzip(file: Path) -> bool:
    """Whether gzip's mark is more than the chance length of a first record."""
    with file.open("rb") as stream:
        start = stream.read(_HEADER_BYTES)
    return start.startswith(_GZIP) and not _is_right(start[:8], start[8:])


def _record(header: bytes, stream: IO[bytes] | gzip.GzipFile, name: str) -> bytes:
    """One record: its length and that length's checksum, its content and the content's checksum."""
    if len(header) < _HEADER_BYTES:
        raise DataError(f"{name}: ends within its length")
    # Checked first: a wrong length could ask for all memory.
    if not _is_right(header[:8], header[8:]):
        raise DataError(f"{name}: the checksum of its length is wrong")
    (length,) = struct.unpack("<Q", header[:8])
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
    return len(checksum) == _FOOTER_BYTES and struct.pack("<I", masked_crc(content)) == checksum


def masked_crc(content: bytes) -> int:
    """The CRC-32C of some bytes, turned as TFRecord stores it."""
    crc: int = google_crc32c.value(content)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _label(name: str, example: Example) -> int:
    values = example.numbers.get(LABEL, [])
    if len(values) != 1:
        raise DataError(f"{name}: needs one number as {LABEL}; has {len(values)}")
    return values[0]


def _image(name: str, example: Example) -> bytes:
    values = example.texts.get(IMAGE, [])
    if len(values) != 1:
        raise DataError(f"{name}: needs one image as {IMAGE}; has {len(values)}")
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
