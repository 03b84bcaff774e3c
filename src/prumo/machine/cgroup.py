"""A control group for one run: a memory cap that swap cannot defeat, and an end for all in it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from prumo.machine.kernel import PROC, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator


# Version 1 writes "no limit" as the largest multiple of the page size below 2**63.
_UNLIMITED_BYTES = 2**60


class _Names(NamedTuple):
    limit: str
    used: str
    cache: str


_FIRST_NAMES = _Names("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_UNIFIED_NAMES = _Names("memory.max", "memory.current", "inactive_file")


@dataclass(frozen=True)
class Place:
    """A control group's folder: in the unified hierarchy (version 2) or in one of version 1."""

    unified: bool
    folder: Path
    mount: Path

    def upwards(self) -> Iterator[Place]:
        """This group, then each one above it, up to the mount."""
        yield self
        if self.folder != self.mount:
            yield from Place(self.unified, self.folder.parent, self.mount).upwards()


@dataclass(frozen=True)
class MemoryLimit:
    """The tightest memory limit of the control groups, and what it still leaves free."""

    limit_bytes: int
    free_bytes: int


def own_place(controller: str, process: Path = PROC / "self") -> Place | None:
    """Find this process's control group for `memory` or `cpu`; None where there is none."""
    groups = read_text(process / "cgroup") or ""
    mounts = read_text(process / "mountinfo") or ""
    unified, group = _own_group(groups, controller)
    for root, mount, kind, options in _mounts(mounts):
        if kind == "cgroup2" if unified else (kind == "cgroup" and controller in options):
            return Place(unified, _visible(mount, root, group), mount)
    return None


def quota_cores(process: Path = PROC / "self") -> float | None:
    """How many processors' worth of time the control groups allow; None without a quota."""
    place = own_place("cpu", process)
    quotas = [_quota_of(each) for each in place.upwards()] if place else []
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_limit(process: Path = PROC / "self") -> MemoryLimit | None:
    """The tightest memory limit from this process's group upwards; None without one."""
    place = own_place("memory", process)
    limits = [_memory_limit_of(each) for each in place.upwards()] if place else []
    known = [limit for limit in limits if limit is not None]
    if not known:
        return None
    return MemoryLimit(
        min(limit.limit_bytes for limit in known), min(limit.free_bytes for limit in known)
    )


def is_limited(place: Place) -> bool:
    """Whether this very group (not one above it) limits memory or processor time."""
    return _memory_limit_of(place) is not None or _quota_of(place) is not None


def _own_group(groups: str, controller: str) -> tuple[bool, str]:
    """Whether the controller is in the unified hierarchy, and the group's path there."""
    unified_path = "/"
    for line in groups.splitlines():
        number, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return False, path
        if number == "0":
            unified_path = path
    return True, unified_path


def _mounts(mountinfo: str) -> Iterator[tuple[str, Path, str, list[str]]]:
    """Root, mount point, file system and its options, for each line of mountinfo."""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        yield fields[3], Path(fields[4]), kinds[0], kinds[-1].split(",")


def _visible(mount: Path, root: str, group: str) -> Path:
    """The group's folder under the mount, or the mount itself where it is not to be seen."""
    # A container often mounts only its own group, while the path is told from the host's root.
    if not Path(group).is_relative_to(root):
        return mount
    folder = mount / Path(group).relative_to(root)
    return folder if folder.is_dir() else mount


def _quota_of(place: Place) -> float | None:
    if place.unified:
        quota, _, period = (read_text(place.folder / "cpu.max") or "").partition(" ")
    else:
        quota = read_text(place.folder / "cpu.cfs_quota_us") or ""
        period = read_text(place.folder / "cpu.cfs_period_us") or ""
    if not quota or not period or quota in {"max", "-1"}:
        return None
    return int(quota) / int(period)


def _memory_limit_of(place: Place) -> MemoryLimit | None:
    names = _UNIFIED_NAMES if place.unified else _FIRST_NAMES
    limit = read_text(place.folder / names.limit)
    used = read_text(place.folder / names.used)
    if not limit or limit == "max" or int(limit) >= _UNLIMITED_BYTES:
        return None
    held_bytes = max(0, int(used or 0) - _cache_bytes(place.folder, names.cache))
    return MemoryLimit(int(limit), max(0, int(limit) - held_bytes))


def _cache_bytes(folder: Path, name: str) -> int:
    """File cache that the kernel gives back before it ends a process."""
    for line in (read_text(folder / "memory.stat") or "").splitlines():
        key, _, count = line.partition(" ")
        if key == name:
            return int(count)
    return 0


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
