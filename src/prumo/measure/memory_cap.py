"""A control group for one run: a memory cap that swap cannot defeat, and an end for all in it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

from prumo.machine.hierarchy import Place, is_limited, own_place
from prumo.machine.kernel import PROC, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PATIENCE_SECONDS = 5.0
_PAUSE_SECONDS = 0.01


class RunGroup(Protocol):
    """The control group of a run, or the absence of one."""

    @property
    def missing(self) -> str:
        """Why there is no cap; empty when the cap is in force."""

    @property
    def join_files(self) -> tuple[str, ...]:
        """Where a process writes its number to be in the group, with all that it starts."""

    def oom_kills(self) -> int:
        """How many processes of the group the kernel ended for want of memory."""

    def processes(self) -> list[int]:
        """The processes in the group now."""

    def kill(self) -> bool:
        """End every process in the group; True when none is left."""

    def remove(self) -> bool:
        """Take the empty group away; True when it is gone."""


@contextlib.contextmanager
def memory_group(name: str, memory_bytes: int | None) -> Iterator[RunGroup]:
    """A group for the time of a block, or none where no cap is asked for; gone afterwards."""
    if memory_bytes is None:
        yield NoGroup("no memory cap was asked for")
        return
    group = create_group(name, memory_bytes)
    try:
        yield group
    finally:
        group.kill()
        group.remove()


def create_group(name: str, memory_bytes: int, process: Path = PROC / "self") -> RunGroup:
    """Make a group that holds a run to `memory_bytes`, or say why this machine cannot."""
    own = own_place("memory", process)
    if own is None:
        return NoGroup("this machine has no memory control group")
    reason = ""
    for parent in _parents(own):
        # The process number keeps two controllers on one machine apart.
        folder = parent.folder / f"prumo-{name}-{os.getpid()}"
        try:
            return _make(parent, folder, memory_bytes)
        except OSError as error:
            reason = reason or f"cannot make a control group in {parent.folder}: {error.strerror}"
    return NoGroup(reason)


class MemoryGroup:
    """A control group with a memory cap, made by `create_group`."""

    missing = ""

    def __init__(self, folder: Path, files: _Files) -> None:
        self._folder = folder
        self._files = files

    @property
    def join_files(self) -> tuple[str, ...]:
        """Where a process writes its number to be in the group, with all that it starts."""
        return (str(self._folder / "cgroup.procs"),)

    def oom_kills(self) -> int:
        """How many processes of the group the kernel ended for want of memory."""
        for line in (read_text(self._folder / self._files.events) or "").splitlines():
            key, _, count = line.partition(" ")
            if key == "oom_kill":
                return int(count)
        return 0

    def processes(self) -> list[int]:
        """The processes in the group now."""
        pids = (read_text(self._folder / "cgroup.procs") or "").split()
        # The kernel writes 0 for a process of another namespace, and kill(0) would hit ourselves.
        return [int(pid) for pid in pids if pid != "0"]

    def kill(self) -> bool:
        """End every process in the group; True when none is left."""
        for _ in _tries():
            pids = self.processes()
            if not pids:
                return True
            for pid in pids:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        return False

    def remove(self) -> bool:
        """Take the empty group away; True when it is gone."""
        for _ in _tries():
            try:
                self._folder.rmdir()
            except FileNotFoundError:
                return True
            except OSError:
                continue
            return True
        return False


class NoGroup:
    """Stands where a group cannot be made: holds nothing, counts nothing."""

    def __init__(self, missing: str) -> None:
        self.missing = missing

    @property
    def join_files(self) -> tuple[str, ...]:
        """Have nothing to join."""
        return ()

    def oom_kills(self) -> int:
        """Count nothing."""
        return 0

    def processes(self) -> list[int]:
        """Hold nothing."""
        return []

    def kill(self) -> bool:
        """Have nothing to end."""
        return True

    def remove(self) -> bool:
        """Have nothing to remove."""
        return True


class _Files(NamedTuple):
    """The names that differ between the two versions of control groups."""

    limit: str
    swap: str
    events: str


_FIRST_FILES = _Files("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control")
_UNIFIED_FILES = _Files("memory.max", "memory.swap.max", "memory.events")


def _parents(own: Place) -> Iterator[Place]:
    """The own group and, in version 2, those above it that bind a run to the same limits."""
    yield own
    if not own.unified:
        return
    # Version 2 lets a group hold either processes or limited groups, so a sibling has to do; but
    # never one that escapes a limit under which this process runs.
    for below, above in pairwise(own.upwards()):
        if is_limited(below):
            return
        yield above


def _make(parent: Place, folder: Path, memory_bytes: int) -> MemoryGroup:
    files = _UNIFIED_FILES if parent.unified else _FIRST_FILES
    if parent.unified:
        _write(parent.folder / "cgroup.subtree_control", "+memory")
    _remove_leftover(folder)
    folder.mkdir()
    try:
        _write(folder / files.limit, memory_bytes)
        if (folder / files.swap).exists():
            # Version 2 counts swap alone, version 1 memory and swap together.
            _write(folder / files.swap, 0 if parent.unified else memory_bytes)
    except OSError:
        folder.rmdir()
        raise
    return MemoryGroup(folder, files)


def _remove_leftover(folder: Path) -> None:
    """Remove an empty group left by an ended controller that had our process number."""
    with contextlib.suppress(FileNotFoundError):
        folder.rmdir()


def _write(path: Path, value: int | str) -> None:
    # Without O_CREAT: a file that is not there means a controller that is not there.
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def _tries() -> Iterator[None]:
    """Try at once, then again every few milliseconds for as long as is sensible."""
    end = time.monotonic() + _PATIENCE_SECONDS
    yield
    while time.monotonic() < end:
        time.sleep(_PAUSE_SECONDS)
        yield
