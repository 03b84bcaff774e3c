"""The memory of a process and of all processes below it, as the kernel counts it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prumo.machine.processes import descendants

_KIBIBYTE = 1024


@dataclass(frozen=True)
class Memory:
    """In bytes of RSS, summed over processes.

    Not PSS, which parts a library among all that use it: it would tell less of a variant, the more
    others of the same runtime are measured beside it.
    """

    resident: int
    peak: int
    """The most that each process has had, so perhaps more than all had at one moment."""


def read_memory(pid: int) -> Memory:
    """Of a process that is running."""
    pids = [pid, *descendants(pid)]
    return Memory(
        resident=sum(_bytes(pid, "VmRSS") for pid in pids),
        peak=sum(_bytes(pid, "VmHWM") for pid in pids),
    )


def _bytes(pid: int, key: str) -> int:
    """0 where the process has gone meanwhile."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    found = (int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))
    return next(found, 0) * _KIBIBYTE
