"""A log file that keeps the beginning and the end of a flood of output."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TAIL_BYTES = 1024 * 1024
CHUNK_BYTES = 65536


class CappedLog:
    """Takes output from a pipe; memory and disk stay bounded whatever the command prints."""

    def __init__(self, path: Path, limit_bytes: int) -> None:
        self.omitted_bytes = 0
        self._file = path.open("wb", buffering=0)
        self._room_bytes = limit_bytes
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0

    def take(self, pipe: int) -> bool:
        """Move what is there from the pipe to the file; False at the end of the output."""
        try:
            chunk = os.read(pipe, CHUNK_BYTES)
        except BlockingIOError:
            return True
        self._keep(chunk)
        return bool(chunk)

    def close(self) -> None:
        """Write the kept end of a flood and close."""
        if self.omitted_bytes:
            self._write(b"\n[... %d bytes left out ...]\n" % self.omitted_bytes)
        for chunk in self._tail:
            self._write(chunk)
        self._file.close()

    def _keep(self, chunk: bytes) -> None:
        head, rest = chunk[: self._room_bytes], chunk[self._room_bytes :]
        if head:
            self._room_bytes -= len(head)
            self._write(head)
        if rest:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
            while self._tail_bytes - len(self._tail[0]) >= TAIL_BYTES:
                gone = self._tail.popleft()
                self._tail_bytes -= len(gone)
                self.omitted_bytes += len(gone)

    def _write(self, chunk: bytes) -> None:
        try:
            self._file.write(chunk)
        except OSError:
            # A full disk must not block the command; what is lost is counted.
            self.omitted_bytes += len(chunk)
