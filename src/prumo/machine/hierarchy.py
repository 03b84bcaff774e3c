"""Where this process stands in the control groups, and what those above it allow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
