"""What Linux tells of a server's processes: their ports, programs, groups."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LISTEN = "0A"
_INODE = 5
"""Its place among the columns after the state: proc(5), /proc/net/tcp."""


def listening_ports(pids: Iterable[int]) -> list[int]:
    """TCP ports, each seen in the network of its own process; none where that may not be seen."""
    ports: set[int] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            sockets = _sockets(pid)
            ports.update(port for inode, port in _listeners(pid) if inode in sockets)
    return sorted(ports)


def program_of(pid: int) -> str:
    """The name of the program that a process runs; empty where that may not be seen."""
    return _told(pid, "comm").strip()


def control_groups_of(pid: int) -> str:
    """The control groups of a process, which name its container; empty where not to be seen."""
    return _told(pid, "cgroup")


def _told(pid: int, what: str) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/{what}").read_text("utf-8", "replace")
    return ""


def _sockets(pid: int) -> set[str]:
    """The inodes of the sockets that a process has open."""
    found = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            kind, _, inode = str(descriptor.readlink()).partition(":")
            if kind == "socket":
                found.add(inode.strip("[]"))
    return found


def _listeners(pid: int) -> Iterator[tuple[str, int]]:
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            _, local, _, state, *others = line.split()
            if state == _LISTEN:
                yield others[_INODE], int(local.rpartition(":")[2], 16)
