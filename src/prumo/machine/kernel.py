"""What the Linux kernel says in text files; a file that is absent or silent reads as None."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class CpuTicks(NamedTuple):
    """Where all processors together spent their time since boot, in clock ticks."""

    busy: int
    """Spent on work of this machine; stolen time is not in it."""
    stolen: int
    """Wanted by this machine and given to another one by the hypervisor."""
    total: int


class Pressure(NamedTuple):
    """How long tasks waited for a resource (pressure stall information, line `some`)."""

    average_percent: float
    """Over the last ten seconds."""
    stalled_seconds: float
    """Since boot."""


def read_text(path: Path) -> str | None:
    """The file's text without surrounding blanks, or None where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\0\n ")
    except OSError:
        return None


def read_cpu_ticks() -> CpuTicks | None:
    """The machine's processor times, or None where the kernel does not report it."""
    text = read_text(PROC / "stat")
    return parse_cpu_ticks(text) if text else None


def read_pressure(resource: str) -> Pressure | None:
    """The pressure on `cpu`, `memory` or `io`, or None where the kernel does not report it."""
    text = read_text(PROC / "pressure" / resource)
    return parse_pressure(text) if text else None


def parse_cpu_ticks(text: str) -> CpuTicks:
    """Read the first line of /proc/stat; guest time is already inside user time.

    >>> parse_cpu_ticks("cpu  10 1 5 80 2 1 1 4 3 0")
    CpuTicks(busy=18, stolen=4, total=104)
    """
    fields = [int(word) for word in text.split(None, 9)[1:9]]
    user, nice, system, idle, waiting, interrupts, soft_interrupts, stolen = fields
    busy = user + nice + system + interrupts + soft_interrupts
    return CpuTicks(busy, stolen, busy + stolen + idle + waiting)


def parse_pressure(text: str) -> Pressure:
    """Read the `some` line of a pressure file, which comes first.

    >>> parse_pressure("some avg10=1.50 avg60=0.10 avg300=0.00 total=2500000")
    Pressure(average_percent=1.5, stalled_seconds=2.5)
    """
    words = text.split("\n", 1)[0].split()
    fields = dict(word.split("=", 1) for word in words[1:])
    return Pressure(float(fields["avg10"]), int(fields["total"]) / 1e6)
