"""The disk under a folder: results and data lie on one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True)
class Disk:
    """The file system that holds a path."""

    path: str
    filesystem: str | None
    mount: str | None
    size_bytes: int
    free_bytes: int
    """What an ordinary user may still write."""


def read_disk(path: Path) -> Disk:
    """Look at the disk under a path; for one that does not exist yet, at its nearest parent."""
    place = path.resolve()
    while not place.exists():
        place = place.parent
    usage = psutil.disk_usage(str(place))
    mount, filesystem = _mount_of(place)
    return Disk(str(place), filesystem, mount, usage.total, usage.free)


def _mount_of(place: Path) -> tuple[str | None, str | None]:
    mounts = [
        (part.mountpoint, part.fstype)
        for part in psutil.disk_partitions(all=True)
        if place.is_relative_to(Path(part.mountpoint))
    ]
    # Of two mounts on one point the later hides the earlier, so ties go to the last.
    return max(reversed(mounts), key=lambda mount: len(mount[0]), default=(None, None))
