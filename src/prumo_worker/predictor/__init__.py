"""A network in its own framework, asked over pipes for as long as its controller lives."""

from __future__ import annotations

import io
import json
import struct
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Frame:
    """A JSON object and the arrays that belong to it, by name."""

    document: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def write_frame(stream: IO[bytes], frame: Frame) -> None:
    """Send it whole."""
    document = {"document": frame.document, "arrays": list(frame.arrays)}
    # All before the first is sent: half a frame would be taken for the beginning of the next.
    contents = [_npy(array) for array in frame.arrays.values()]
    _write_part(stream, json.dumps(document).encode())
    for content in contents:
        _write_part(stream, content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> Frame | None:
    """Wait for the next one; None once the other side has ended, even in the middle of one."""
    content = _read_part(stream)
    if content is None:
        return None
    document = json.loads(content)
    arrays = {}
    for name in document["arrays"]:
        part = _read_part(stream)
        if part is None:
            return None
        arrays[name] = np.load(io.BytesIO(part), allow_pickle=False)
    return Frame(document["document"], arrays)


def _npy(array: np.ndarray) -> memoryview:
    content = io.BytesIO()
    # Plain numbers only: neither side ever reads a pickle.
    np.save(content, array, allow_pickle=False)
    return content.getbuffer()


def _write_part(stream: IO[bytes], content: bytes | memoryview) -> None:
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)


def _read_part(stream: IO[bytes]) -> bytes | None:
    length = stream.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(length)
    content = stream.read(size)
    return content if len(content) == size else None
