"""A kernel file kept open, so that reading it again costs one system call."""

from __future__ import annotations

import os

_MOST_BYTES = 4096


class KernelFile:
    """A short text file of the kernel, such as /proc/meminfo."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> str:
        """What the kernel says now."""
        return os.pread(self._descriptor, _MOST_BYTES, 0).decode("ascii", "replace")


def open_kernel_file(path: str) -> KernelFile | None:
    """Open a kernel file; None where it is absent, forbidden or switched off."""
    try:
        file = KernelFile(path)
        file.read()
    except OSError:
        return None
    return file
