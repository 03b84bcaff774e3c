"""A server that a command starts on this machine, and what Linux reports of its processes."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.machine.kernel import descendants, signal_all
from prumo.supervise.guard import GuardedProcess, Order
from prumo_endpoint.exchange import LOCAL_HOST, Address, free_port, require_unused
from prumo_endpoint.resources import UNLIMITED, Resources
from prumo_endpoint.targets import NO_OPTIONS, Server, Target, TargetOptions, port_environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prumo.machine.cgroup import CappedCgroup
    from prumo.supervise.guard import Ending

OUT_OF_MEMORY = "was killed because its memory was full"
_LAST_CHARACTERS = 400
_LISTEN = "0A"
_INODE = 5
"""Its place among the columns after the state: proc(5), /proc/net/tcp."""


class ProcessTarget(Target):
    """A program and its arguments; its environment says where to listen."""

    noun = "a command"
    options = frozenset({"port", "memory_mb", "cpus"})

    def __init__(
        self,
        words: Sequence[str],
        port: int | None = None,
        resources: Resources = UNLIMITED,
    ) -> None:
        if not words:
            raise InputError("the command is empty; right is one such as 'python server.py'")
        self.name = join(words)
        self._words = list(words)
        self._port = port
        self._resources = resources

    @classmethod
    def from_words(cls, words: Sequence[str], options: TargetOptions = NO_OPTIONS) -> ProcessTarget:
        """The program and its arguments."""
        return cls(words, options.port, Resources(options.memory_mb, options.cpus))

    @contextlib.contextmanager
    def running(self) -> Iterator[Server]:
        """Start it under a guard, which stops it and everything that it started."""
        port = self._port or free_port()
        require_unused(port)
        self._resources.require_machine()
        with (
            tempfile.TemporaryDirectory(prefix="prumo-endpoint-") as folder,
            self._resources.cgroup(f"endpoint-{port}") as group,
        ):
            log = Path(folder) / "server.log"
            order = Order(
                command=self._words,
                directory=str(Path.cwd()),
                environment={**os.environ, **port_environment(port)},
                log=str(log),
                join=group.join_files,
            )
            with GuardedProcess(order) as guarded:
                yield Server(Address(LOCAL_HOST, port), port, _Process(guarded, group, log))


class _Process:
    """The process of a command, below its guard."""

    start_error = ""

    def __init__(self, guarded: GuardedProcess, group: CappedCgroup, log: Path) -> None:
        self._guarded = guarded
        self._group = group
        self._log = log

    @property
    def program(self) -> str:
        """The name of the program that it runs now."""
        return "".join(map(program_of, self._pids()))

    def ending(self) -> str | None:
        """How it ended; a command that could not be started is the user's mistake."""
        ending = self._guarded.wait(0)
        if ending is None:
            return None
        if ending.failure:
            raise InputError(ending.failure)
        return OUT_OF_MEMORY if self._group.oom_kills() else described_ending(ending)

    def last_output(self) -> str:
        """The end of what it printed."""
        return tail(self._log)

    def addresses(self) -> list[Address]:
        """Where it and its children listen."""
        ports = listening_ports(descendants(self._guarded.guard_pid))
        return [Address(LOCAL_HOST, port) for port in ports]

    def terminate(self) -> None:
        """Signal the command itself, not its children: it has to end those."""
        signal_all(self._pids(), signal.SIGTERM)

    def _pids(self) -> list[int]:
        """The command's own process, below its guard; none once it has ended."""
        return descendants(self._guarded.guard_pid)[:1]


def tail(log: Path) -> str:
    """The end of a log; empty where there is none."""
    with contextlib.suppress(OSError):
        return log.read_text("utf-8", "replace")[-_LAST_CHARACTERS:].strip()
    return ""


def described_ending(ending: Ending) -> str:
    """How a command ended, in words."""
    if ending.signal is not None:
        return f"ended by signal {ending.signal}"
    return f"ended with exit code {ending.exit_code}"


def listening_ports(pids: Iterable[int]) -> list[int]:
    """TCP ports, each read in the network of its own process; none where that is not permitted."""
    ports: set[int] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            sockets = _sockets(pid)
            ports.update(port for inode, port in _listeners(pid) if inode in sockets)
    return sorted(ports)


def program_of(pid: int) -> str:
    """The name of the program that a process runs; empty where that is not permitted."""
    return _process_file(pid, "comm").strip()


def cgroups_of(pid: int) -> str:
    """The control groups of a process, which name its container; empty if not permitted."""
    return _process_file(pid, "cgroup")


def _process_file(pid: int, name: str) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_text("utf-8", "replace")
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
