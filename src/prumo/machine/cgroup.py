"""Control groups (cgroups) of version 1 and 2: the limits of this process, and capped children.

`own_cgroup` finds the group of this process for a controller, with `memory_limit` and `quota_cores`
reading the tightest limit from there upwards. `capped_cgroup` makes a group for one run: a memory
cap that swap cannot defeat, a share of the processors, and an end for every process in it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from prumo.machine.kernel import PROC, read_field, read_text, signal_all

PROCESSES_FILE = "cgroup.procs"
# The kernel's default, 0.1 s, would let short work run without a limit.
_CPU_PERIOD_US = 20_000
_SMALLEST_QUOTA_US = 1000
# Version 1 writes "no limit" as the largest multiple of the page size below 2**63.
_UNLIMITED_BYTES = 2**60
_PATIENCE_SECONDS = 5.0
_PAUSE_SECONDS = 0.01


class _Names(NamedTuple):
    """The kernel's names that differ between the two versions."""

    limit: str
    swap_limit: str
    used: str
    cache: str
    events: str


_NAMES = {
    1: _Names(
        "memory.limit_in_bytes",
        "memory.memsw.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
        "memory.oom_control",
    ),
    2: _Names("memory.max", "memory.swap.max", "memory.current", "inactive_file", "memory.events"),
}


class CpuQuota(NamedTuple):
    """A limit of processor time as the kernel takes it: so much in every period."""

    quota_us: int
    period_us: int


def cpu_quota(cpus: float) -> CpuQuota:
    """The quota for a number of processors, which may be broken.

    >>> cpu_quota(1.5)
    CpuQuota(quota_us=30000, period_us=20000)
    """
    return CpuQuota(max(_SMALLEST_QUOTA_US, round(cpus * _CPU_PERIOD_US)), _CPU_PERIOD_US)


@dataclass(frozen=True)
class MemoryLimit:
    """The tightest memory limit of the control groups, and what it still leaves free."""

    limit_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Cgroup:
    """A control group: its folder below the mount of its version's file system."""

    version: int
    folder: Path
    mount: Path

    def upwards(self) -> Iterator[Cgroup]:
        """This group, then each one above it, up to the mount."""
        yield self
        if self.folder != self.mount:
            yield from Cgroup(self.version, self.folder.parent, self.mount).upwards()

    def quota_cores(self) -> float | None:
        """The processor time that this very group allows, in cores; None without a quota."""
        if self.version == 1:
            quota = read_text(self.folder / "cpu.cfs_quota_us") or ""
            period = read_text(self.folder / "cpu.cfs_period_us") or ""
        else:
            quota, _, period = (read_text(self.folder / "cpu.max") or "").partition(" ")
        if not quota or not period or quota in {"max", "-1"}:
            return None
        return int(quota) / int(period)

    def memory_limit(self) -> MemoryLimit | None:
        """The memory limit of this very group; None without one."""
        names = _NAMES[self.version]
        limit = read_text(self.folder / names.limit)
        if not limit or limit == "max" or int(limit) >= _UNLIMITED_BYTES:
            return None
        used_bytes = int(read_text(self.folder / names.used) or 0)
        # The kernel drops file cache before it kills a process.
        cache_bytes = read_field(self.folder / "memory.stat", names.cache)
        held_bytes = max(0, used_bytes - cache_bytes)
        return MemoryLimit(int(limit), max(0, int(limit) - held_bytes))

    @property
    def is_limited(self) -> bool:
        """Whether this very group (not one above it) limits memory or processor time."""
        return self.memory_limit() is not None or self.quota_cores() is not None


def own_cgroup(controller: str, process: Path = PROC / "self") -> Cgroup | None:
    """The control group of this process for `memory` or `cpu`; None where there is none."""
    version, group = _own_group(read_text(process / "cgroup") or "", controller)
    for line in (read_text(process / "mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        (_, _, _, root, point, *_), (kind, *_, options) = before.split(), after.split()
        is_version_1 = kind == "cgroup" and controller in options.split(",")
        if is_version_1 if version == 1 else kind == "cgroup2":
            return Cgroup(version, _visible(Path(point), root, group), Path(point))
    return None


def quota_cores(process: Path = PROC / "self") -> float | None:
    """How many processors' worth of time the control groups allow; None without a quota."""
    own = own_cgroup("cpu", process)
    quotas = [group.quota_cores() for group in own.upwards()] if own else []
    return min((quota for quota in quotas if quota is not None), default=None)


def memory_limit(process: Path = PROC / "self") -> MemoryLimit | None:
    """The tightest memory limit from the group of this process upwards; None without one."""
    own = own_cgroup("memory", process)
    limits = [group.memory_limit() for group in own.upwards()] if own else []
    known = [(limit.limit_bytes, limit.free_bytes) for limit in limits if limit is not None]
    return MemoryLimit(*map(min, zip(*known, strict=True))) if known else None


class CappedCgroup:
    """The control groups of one run, or the absence of any: then it holds and counts nothing.

    There is one group, or with version 1 one for memory and another for processor time.
    """

    def __init__(self, groups: Sequence[Cgroup] = (), missing: str = "") -> None:
        self._groups = tuple(groups)
        self.missing = missing
        """Why there is no cap; empty when the cap is in force."""

    @property
    def join_files(self) -> tuple[str, ...]:
        """Where a process writes its number to be in the groups, with all that it starts."""
        return tuple(str(group.folder / PROCESSES_FILE) for group in self._groups)

    def oom_kills(self) -> int:
        """How many processes of the group the kernel killed for lack of memory."""
        return sum(
            read_field(group.folder / _NAMES[group.version].events, "oom_kill")
            for group in self._groups
        )

    def processes(self) -> list[int]:
        """The processes in the group now."""
        if not self._groups:
            return []
        pids = (read_text(self._groups[0].folder / PROCESSES_FILE) or "").split()
        # The kernel writes 0 for a process of another namespace, and kill(0) would hit ourselves.
        return [int(pid) for pid in pids if pid != "0"]

    def kill(self) -> bool:
        """Kill every process in the group; True when none is left."""
        for _ in _tries():
            pids = self.processes()
            if not pids:
                return True
            signal_all(pids, signal.SIGKILL)
        return False

    def remove(self) -> bool:
        """Remove the empty group; True when it is gone."""
        return remove_groups(self.join_files)


def remove_groups(join_files: Sequence[str]) -> bool:
    """Remove the empty groups of `CappedCgroup.join_files`; True when all are gone."""
    gone = [_removed(Path(file).parent) for file in join_files]
    return all(gone)


@contextlib.contextmanager
def capped_cgroup(
    name: str, memory_bytes: int | None, cpus: float | None = None
) -> Iterator[CappedCgroup]:
    """A group for the time of a block, or none where no cap is asked for; removed afterwards."""
    if memory_bytes is None and cpus is None:
        yield CappedCgroup(missing="no memory cap was asked for")
        return
    group = create_capped_cgroup(name, memory_bytes, cpus=cpus)
    try:
        yield group
    finally:
        group.kill()
        group.remove()


def create_capped_cgroup(
    name: str,
    memory_bytes: int | None,
    process: Path = PROC / "self",
    *,
    cpus: float | None = None,
) -> CappedCgroup:
    """Make a group that holds a run to its limits, or say why this machine cannot.

    Args:
        name: part of the group's name; another group of this process must not have it.
        memory_bytes: the most memory of all processes together, swap included.
        process: the folder of a process in /proc, below whose group the new one is made.
        cpus: processor time per time: 0.5 is half of one processor.
    """
    limits = {"memory": memory_bytes, "cpu": cpus}
    wanted = {controller: limit for controller, limit in limits.items() if limit is not None}
    places: dict[Cgroup, dict[str, float]] = {}
    for controller, limit in wanted.items():
        own = own_cgroup(controller, process)
        if own is None:
            return CappedCgroup(missing=f"this machine has no {controller} control group")
        places.setdefault(own, {})[controller] = limit
    made: list[Cgroup] = []
    for own, here in places.items():
        group = _made_near(own, name, here)
        if isinstance(group, str):
            CappedCgroup(made).remove()
            return CappedCgroup(missing=group)
        made.append(group)
    return CappedCgroup(made)


def _own_group(groups: str, controller: str) -> tuple[int, str]:
    """The version that has the controller, and the path of the group there."""
    path_in_version_2 = "/"
    for line in groups.splitlines():
        number, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return 1, path
        if number == "0":
            path_in_version_2 = path
    return 2, path_in_version_2


def _visible(mount: Path, root: str, group: str) -> Path:
    """The group's folder under the mount, or the mount itself where the folder is not visible."""
    # A container often mounts only its own group, while the path starts at the host's root.
    if not Path(group).is_relative_to(root):
        return mount
    folder = mount / Path(group).relative_to(root)
    return folder if folder.is_dir() else mount


def _parents(own: Cgroup) -> Iterator[Cgroup]:
    """The own group and, in version 2, those above it that bind a run to the same limits."""
    yield own
    if own.version == 1:
        return
    # Version 2 lets a group hold either processes or limited groups, so a sibling has to do; but
    # never one that escapes a limit under which this process runs.
    for below, above in pairwise(own.upwards()):
        if below.is_limited:
            return
        yield above


def _made_near(own: Cgroup, name: str, limits: Mapping[str, float]) -> Cgroup | str:
    """A group below the own one or, in version 2, beside it; or why there can be none."""
    reason = ""
    for parent in _parents(own):
        # The process number keeps two controllers on one machine apart.
        folder = parent.folder / f"prumo-{name}-{os.getpid()}"
        try:
            return _make(parent, folder, limits)
        except OSError as error:
            reason = reason or f"cannot make a control group in {parent.folder}: {error.strerror}"
    return reason


def _make(parent: Cgroup, folder: Path, limits: Mapping[str, float]) -> Cgroup:
    if parent.version != 1:
        _write(parent.folder / "cgroup.subtree_control", " ".join(f"+{each}" for each in limits))
    # An empty group may be left by an ended controller that had our process number.
    with contextlib.suppress(FileNotFoundError):
        folder.rmdir()
    folder.mkdir()
    group = Cgroup(parent.version, folder, parent.mount)
    try:
        if "memory" in limits:
            _limit_memory(group, int(limits["memory"]))
        if "cpu" in limits:
            _limit_cpus(group, limits["cpu"])
    except OSError:
        folder.rmdir()
        raise
    return group


def _limit_memory(group: Cgroup, memory_bytes: int) -> None:
    names = _NAMES[group.version]
    _write(group.folder / names.limit, memory_bytes)
    swap = group.folder / names.swap_limit
    if swap.exists():
        # Version 1 counts memory and swap together, version 2 swap alone.
        _write(swap, memory_bytes if group.version == 1 else 0)


def _limit_cpus(group: Cgroup, cpus: float) -> None:
    quota, period = cpu_quota(cpus)
    if group.version == 1:
        _write(group.folder / "cpu.cfs_period_us", period)
        _write(group.folder / "cpu.cfs_quota_us", quota)
    else:
        _write(group.folder / "cpu.max", f"{quota} {period}")


def _removed(folder: Path) -> bool:
    for _ in _tries():
        try:
            folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            continue
        return True
    return False


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
