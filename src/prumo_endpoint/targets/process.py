"""A server that a command starts on this machine."""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.machine.processes import descendants, signal_all
from prumo.supervise.guard import GuardedProcess, Order
from prumo_endpoint.exchange import LOCAL_HOST, Address, free_port, require_unused
from prumo_endpoint.targets import Server, port_environment
from prumo_endpoint.targets.process_facts import listening_ports, program_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prumo.supervise.guard import Ending

_LAST_CHARACTERS = 400


class CommandTarget:
    """A program and its arguments, told by its environment where to listen."""

    def __init__(self, words: Sequence[str], port: int | None = None) -> None:
        if not words:
            raise InputError("the command is empty; right is one such as 'python server.py'")
        self.name = join(words)
        self._words = list(words)
        self._port = port

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Start it under a guard, which ends it and all that it started."""
        port = self._port or free_port()
        require_unused(port)
        with tempfile.TemporaryDirectory(prefix="prumo-endpoint-") as folder:
            log = Path(folder) / "server.log"
            order = Order(
                command=self._words,
                directory=str(Path.cwd()),
                environment={**os.environ, **port_environment(port)},
                log=str(log),
            )
            with GuardedProcess(order) as guarded:
                yield Server(Address(LOCAL_HOST, port), port, CommandProcess(guarded, log))


class CommandProcess:
    """The process of a command, below its guard."""

    refusal = ""

    def __init__(self, guarded: GuardedProcess, log: Path) -> None:
        self._guarded = guarded
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
        return _told(ending)

    def last_words(self) -> str:
        """The end of what it printed."""
        with suppress(OSError):
            return self._log.read_text("utf-8", "replace")[-_LAST_CHARACTERS:].strip()
        return ""

    def addresses(self) -> list[Address]:
        """Where it and its children listen."""
        ports = listening_ports(descendants(self._guarded.guard_pid))
        return [Address(LOCAL_HOST, port) for port in ports]

    def terminate(self) -> None:
        """Signal the command itself and not its children: those are its own to end."""
        signal_all(self._pids(), signal.SIGTERM)

    def _pids(self) -> list[int]:
        """The command's own process, below its guard; none once it has ended."""
        return descendants(self._guarded.guard_pid)[:1]


def _told(ending: Ending) -> str:
    if ending.signal is not None:
        return f"ended by signal {ending.signal}"
    return f"ended with exit code {ending.exit_code}"
