"""What Linux says in text files, None where it is silent; and the processes below a process."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from functools import cache
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


def read_field(path: Path, name: str) -> int:
    """A number in a file of lines `name number`; 0 where it is absent."""
    for line in (read_text(path) or "").splitlines():
        key, _, count = line.partition(" ")
        if key == name:
            return int(count)
    return 0


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


CLEANUP_VARIABLE = "PRUMO_CLEANUP"
"""Processes that have it in their environment clean up after others, so they are killed last."""
_MOST_BYTES = 65536
_PATIENCE_SECONDS = 10.0
_CLEANUP_SECONDS = 5.0
_EXEC_SECONDS = 0.005


def descendants(pid: int) -> list[int]:
    """Every process below `pid`, parents before children."""
    if not kernel_lists_children():
        import psutil  # noqa: PLC0415 (megabytes that a usual Linux does not need)

        try:
            return [child.pid for child in psutil.Process(pid).children(recursive=True)]
        except psutil.Error:
            return []
    queue = [pid]
    for parent in queue:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 (for every sample)
                with contextlib.suppress(OSError):
                    children = read_quickly(f"/proc/{parent}/task/{task}/children")
                    queue.extend(map(int, children.split()))
    return queue[1:]


def living_descendants(pid: int) -> list[int]:
    """The processes below `pid` that have not ended yet."""
    return [child for child in descendants(pid) if not has_ended(child)]


def signal_all(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to each process that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def kill_own_descendants() -> list[int]:
    """Kill and reap everything below this process; who was still alive.

    Those that clean up after others are given a while to end by themselves. A process of another
    user (started by `sudo`, say) cannot be killed and is left after a while.
    """
    killed: dict[int, None] = {}
    began = time.monotonic()
    give_up = began + _PATIENCE_SECONDS
    while True:
        alive = living_descendants(os.getpid())
        if time.monotonic() < began + _CLEANUP_SECONDS:
            # Whoever ended meanwhile has no environment either.
            alive = [pid for pid in alive if not cleans_up(pid) and not has_ended(pid)]
        killed.update(dict.fromkeys(alive))
        signal_all(alive, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not descendants(os.getpid()) or time.monotonic() > give_up:
            return list(killed)
        time.sleep(0.002)


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or ended and only waits for its parent to notice."""
    try:
        state = read_quickly(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0]
    except FileNotFoundError:
        return Path("/proc/self").exists()
    except OSError:
        return True
    return state in {b"Z", b"X"}


def cleans_up(pid: int) -> bool:
    """Whether a process says that it cleans up after others, and ends when they have ended."""
    path = f"/proc/{pid}/environ"
    try:
        environment = read_quickly(path)
        if not environment:
            # While a program takes the place of another, it has none for a moment.
            time.sleep(_EXEC_SECONDS)
            environment = read_quickly(path)
    except OSError:
        return False
    return f"{CLEANUP_VARIABLE}=1".encode() in environment.split(b"\0")


def resident_bytes(pid: int) -> int:
    """The memory that a process holds; 0 when it is gone."""
    try:
        return int(read_quickly(f"/proc/{pid}/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def peak_resident_bytes(pid: int) -> int:
    """The most memory that a process has held with its present program; 0 when it is gone."""
    try:
        _, _, rest = read_quickly(f"/proc/{pid}/status").partition(b"VmHWM:")
        return int(rest.split(maxsplit=1)[0]) * 1024
    except (OSError, IndexError):
        return 0


@cache
def kernel_lists_children() -> bool:
    """Whether this kernel lists the children of a process; few are built without it."""
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists()


def read_quickly(path: str) -> bytes:
    """Read a kernel file by system calls: file objects would cost more than the kernel does."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)
