"""The sampler: a small process beside a run that writes samples of the machine to a table.

Here are its loop and schedule, the table, the pipe to its controller, and the processes it counts.
"""

from __future__ import annotations

import math
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prumo.machine.kernel import descendants, kernel_lists_children, read_quickly
from prumo.run.sampler.sensors import UNKNOWN, Rate, Sensor

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORTEST_PERIOD_SECONDS = 0.1
TIME_COLUMNS = ("time", "seconds")

_MOST_BYTES = 4096


def sample(
    sensors: Sequence[Sensor],
    table: Table,
    ends_within: Callable[[float], bool],
    clock: Clock,
    period_seconds: float,
) -> Tally:
    """Write a row now, one per period, and one at the end.

    `ends_within` waits: True as soon as the sampler shall end, False after the full time.
    """
    start = clock.monotonic()
    schedule = Schedule(start, period_seconds)
    _write_row(sensors, table, clock, start)
    samples, late = 1, 0
    while not ends_within(schedule.wait_seconds(clock.monotonic())):
        late += schedule.take(clock.monotonic())
        _write_row(sensors, table, clock, start)
        samples += 1
    _write_row(sensors, table, clock, start)
    return Tally(samples + 1, late, schedule.period_seconds)


def _write_row(sensors: Sequence[Sensor], table: Table, clock: Clock, start: float) -> None:
    row = [clock.wall(), clock.monotonic() - start]
    for sensor in sensors:
        try:
            row += sensor.read()
        except (OSError, ValueError, LookupError):
            row += (UNKNOWN,) * len(sensor.columns)
    table.write(row)


def columns_of(sensors: Sequence[Sensor]) -> list[str]:
    """The table's columns, in the order of the sensors."""
    return [*TIME_COLUMNS, *(column for sensor in sensors for column in sensor.columns)]


class Schedule:
    """Due times at whole periods after the start, on a monotonic clock."""

    def __init__(self, start_seconds: float, period_seconds: float) -> None:
        self.period_seconds = max(SHORTEST_PERIOD_SECONDS, period_seconds)
        self._start_seconds = start_seconds
        self._number = 1

    def wait_seconds(self, now_seconds: float) -> float:
        """How long to wait for the next sample; 0 when it is due."""
        return max(0.0, self._due_seconds() - now_seconds)

    def take(self, now_seconds: float) -> bool:
        """Note a sample taken now; True when it came more than half a period late."""
        late = now_seconds - self._due_seconds() > self.period_seconds / 2
        passed = int((now_seconds - self._start_seconds) / self.period_seconds)
        # Periods slept through, as when a laptop is shut, are not made up for.
        self._number = max(self._number, passed) + 1
        return late

    def _due_seconds(self) -> float:
        return self._start_seconds + self._number * self.period_seconds


class Clock(NamedTuple):
    """A clock on the wall, which may jump and labels rows, and one that only goes forward."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic


class Tally(NamedTuple):
    """How the sampling went."""

    samples: int
    late: int
    period_seconds: float


class Table:
    """A file that grows by one row at a time, each handed to the system at once."""

    def __init__(self, path: str, columns: Sequence[str]) -> None:
        self.lost = 0
        """Rows that could not be written."""
        self._descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644
        )
        self._decimals = [0 if column.endswith("_bytes") else 3 for column in columns]
        self._length = 0
        self._full = False
        self._append(",".join(columns))

    def write(self, row: Sequence[float]) -> None:
        """Add a row, or count it as lost once the disk has refused one."""
        cells = [
            f"{value:.{decimals}f}" if math.isfinite(value) else ""
            for value, decimals in zip(row, self._decimals, strict=True)
        ]
        self._append(",".join(cells))
        self.lost += self._full

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _append(self, line: str) -> None:
        if self._full:
            return
        data = f"{line}\n".encode()
        try:
            written = os.write(self._descriptor, data)
        except OSError:
            written = 0
        if written == len(data):
            self._length += written
        else:
            self._full = True
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._length)


class ControllerPipe:
    """Waits without burning the processor, and notices the end of its controller."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._wake, alarm = os.pipe()
        os.set_blocking(alarm, False)
        # A handler that raised could tear a row apart; a byte in a pipe ends the wait instead.
        signal.set_wakeup_fd(alarm)
        signal.signal(signal.SIGTERM, lambda *_: None)
        # Ctrl-C reaches the whole terminal, but it is for the controller to decide on.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def ends_within(self, seconds: float) -> bool:
        """Wait; True as soon as the sampler shall end, False after the full time."""
        due = time.monotonic() + seconds
        while True:
            left = max(0.0, due - time.monotonic())
            ready, _, _ = select.select([self._descriptor, self._wake], [], [], left)
            if not ready:
                return False
            if self._wake in ready or not os.read(self._descriptor, _MOST_BYTES):
                return True


def memory_bytes(status: Path = Path("/proc/self/status")) -> int:
    """The most memory this process held at once."""
    try:
        lines = status.read_text(encoding="ascii").splitlines()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    # Not ru_maxrss: Linux carries the parent's size over into it when a process is started.
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


Usage = Callable[[], tuple[float, float]]
"""Processor seconds that a tree of processes has used, and the bytes that it holds.

UNKNOWN bytes before the first process and after the last; OSError once the root is gone.
"""


def open_tree(root: int, clock: Callable[[], float]) -> Sensor | None:
    """Watch the descendants of `root`; None where there is no such process."""
    try:
        usage = proc_usage(root) if kernel_lists_children() else psutil_usage(root)
    except OSError:
        return None
    return tree_sensor(usage, clock)


def tree_sensor(usage: Usage, clock: Callable[[], float]) -> Sensor:
    """Percent of one core since the last look, and resident bytes now."""
    rate = Rate(clock)

    def read() -> tuple[float, ...]:
        seconds, rss_bytes = usage()
        return 100.0 * rate.per_second(seconds), rss_bytes

    return Sensor(("tree_cpu_percent", "tree_rss_bytes"), read)


def proc_usage(root: int) -> Usage:
    """Walk the kernel's lists of children, so that the cost is the tree's, not the machine's."""
    started = _read_stat(root).started
    ticks_per_second, page_bytes = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")

    def usage() -> tuple[float, float]:
        ticks = pages = 0
        # Children come before parents: one that ends in between is then counted in its parent.
        for pid in reversed(descendants(root)):
            with suppress(FileNotFoundError, ProcessLookupError):
                stat = _read_stat(pid)
                ticks += stat.own_ticks + stat.children_ticks
                pages += stat.rss_pages
        own = _read_stat(root)
        if own.started != started:
            raise ProcessLookupError(f"process {root} ended and its number was reused")
        # The root's own work is not the run's, but its ended children are.
        seconds = (ticks + own.children_ticks) / ticks_per_second
        return seconds, float(pages * page_bytes) if pages else UNKNOWN

    return usage


def psutil_usage(root: int) -> Usage:
    """The same through psutil, for systems and kernels without lists of children."""
    import psutil  # noqa: PLC0415 (three megabytes that Linux does not need)

    try:
        process = psutil.Process(root)
    except psutil.Error as error:
        raise ProcessLookupError(str(error)) from error

    def usage() -> tuple[float, float]:
        try:
            seconds = sum(process.cpu_times()[2:4])
            below = process.children(recursive=True)
        except psutil.Error as error:
            raise ProcessLookupError(str(error)) from error
        rss_bytes = 0.0
        for child in below:
            with suppress(psutil.Error):
                seconds += sum(child.cpu_times()[:4])
                rss_bytes += child.memory_info().rss
        return seconds, rss_bytes or UNKNOWN

    return usage


class _Stat(NamedTuple):
    own_ticks: int
    children_ticks: int
    started: int
    rss_pages: int


def _read_stat(pid: int) -> _Stat:
    # The name in brackets may hold blanks and brackets, so fields count from the last one.
    fields = read_quickly(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return _Stat(
        own_ticks=int(fields[11]) + int(fields[12]),
        children_ticks=int(fields[13]) + int(fields[14]),
        started=int(fields[19]),
        rss_pages=int(fields[21]),
    )
