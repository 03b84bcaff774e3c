"""What every sensor promises, and how a counter becomes a rate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


UNKNOWN = float("nan")
"""A figure that cannot be given now; it becomes an empty cell."""

SHORTEST_SECONDS = 0.05
"""Five of the kernel's clock ticks: over less time a rate would be mostly rounding."""


class Sensor(Protocol):
    """Something that can be read again and again, always into the same columns.

    A sensor is opened by a function that returns None where its hardware or its counters are
    absent. A read that fails raises OSError or ValueError; the sampler leaves its cells empty.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the figures, fixed for the sensor's life."""

    def read(self) -> tuple[float, ...]:
        """One figure per column; UNKNOWN where it cannot be told."""


class Rate:
    """How fast a counter grows per second between one look and the next."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last: tuple[float, float] | None = None

    def per_second(self, count: float) -> float:
        """The growth since the last look, never negative; UNKNOWN where no time lies between."""
        seconds = self._clock()
        if self._last is None:
            self._last = seconds, count
            return UNKNOWN
        last_seconds, last_count = self._last
        elapsed = seconds - last_seconds
        if elapsed < SHORTEST_SECONDS:
            return UNKNOWN
        self._last = seconds, count
        return max(0.0, count - last_count) / elapsed


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
