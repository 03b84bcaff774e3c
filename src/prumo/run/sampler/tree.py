"""The tree sensor: processor time and memory of a run's processes, its supervisor left out."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from prumo.machine.processes import descendants, kernel_lists_children
from prumo.run.sampler.sensors import UNKNOWN, Rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from prumo.run.sampler.sensors import Sensor

_MOST_BYTES = 4096


class Usage(NamedTuple):
    """What a tree of processes has used and holds."""

    cpu_seconds: float
    rss_bytes: float
    """Unknown before the first process and after the last."""


class Tree:
    """The descendants of one process."""

    columns = ("tree_cpu_percent", "tree_rss_bytes")

    def __init__(self, processes: _Processes, clock: Callable[[], float]) -> None:
        self._processes = processes
        self._rate = Rate(clock)

    def read(self) -> tuple[float, ...]:
        """Percent of one core since the last look, and resident bytes now."""
        usage = self._processes.usage()
        return 100.0 * self._rate.per_second(usage.cpu_seconds), usage.rss_bytes


def open_tree(root: int, clock: Callable[[], float]) -> Sensor | None:
    """Watch the descendants of `root`; None where there is no such process."""
    try:
        return Tree(_ProcTree(root) if kernel_lists_children() else _PsutilTree(root), clock)
    except OSError:
        return None


class _Processes(Protocol):
    def usage(self) -> Usage:
        """The usage of all descendants; OSError once the root is gone."""


class _Stat(NamedTuple):
    own_ticks: int
    children_ticks: int
    started: int
    rss_pages: int


class _ProcTree:
    """Walks the kernel's lists of children, so its cost is that of the tree, not the machine."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._started = _read_stat(root).started
        self._ticks_per_second = os.sysconf("SC_CLK_TCK")
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")

    def usage(self) -> Usage:
        ticks = pages = 0
        # Children come before parents: one that ends in between is then counted in its parent.
        for pid in reversed(descendants(self._root)):
            with suppress(FileNotFoundError, ProcessLookupError):
                stat = _read_stat(pid)
                ticks += stat.own_ticks + stat.children_ticks
                pages += stat.rss_pages
        root = _read_stat(self._root)
        if root.started != self._started:
            raise ProcessLookupError(f"process {self._root} ended and its number was reused")
        # The root's own work is not the run's, but its ended children are.
        ticks += root.children_ticks
        rss_bytes = float(pages * self._page_bytes) if pages else UNKNOWN
        return Usage(ticks / self._ticks_per_second, rss_bytes)


class _PsutilTree:
    """The same through psutil, for systems and kernels without lists of children."""

    def __init__(self, root: int) -> None:
        import psutil  # noqa: PLC0415 (three megabytes that Linux does not need)

        self._psutil = psutil
        try:
            self._root = psutil.Process(root)
        except psutil.Error as error:
            raise ProcessLookupError(str(error)) from error

    def usage(self) -> Usage:
        try:
            seconds = sum(self._root.cpu_times()[2:4])
            processes = self._root.children(recursive=True)
        except self._psutil.Error as error:
            raise ProcessLookupError(str(error)) from error
        rss_bytes = 0.0
        for process in processes:
            with suppress(self._psutil.Error):
                seconds += sum(process.cpu_times()[:4])
                rss_bytes += process.memory_info().rss
        return Usage(seconds, rss_bytes or UNKNOWN)


def _read_stat(pid: int) -> _Stat:
    descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        stat = os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)
    # The name in brackets may hold blanks and brackets, so fields count from the last one.
    fields = stat.rpartition(b")")[2].split()
    return _Stat(
        own_ticks=int(fields[11]) + int(fields[12]),
        children_ticks=int(fields[13]) + int(fields[14]),
        started=int(fields[19]),
        rss_pages=int(fields[21]),
    )
