"""Prumo's side of a guard: start a command, wait for its end, stop it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Self

KEPT_LOG_BYTES = 32 * 1024 * 1024
ANNOUNCED = "--announced"
READY = b"ready\n"
"""What a guard with that argument reports when it waits for its order."""


@dataclass(frozen=True)
class Order:
    """A command and its limits."""

    command: list[str]
    directory: str
    environment: dict[str, str]
    log: str
    timeout_seconds: float | None = None
    stop_seconds: float = 10.0
    memory_bytes: int | None = None
    """Watched by looking at the processes, where no control group can hold them."""
    affinity: list[int] | None = None
    join: tuple[str, ...] = ()
    """Files of control groups to which the command's process number is written."""
    log_bytes: int = KEPT_LOG_BYTES


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    exit_code: int | None = None
    signal: int | None = None
    cause: str | None = None
    """Why the guard ended it: `stopped`, `timeout`, `memory`; None when it ended by itself."""
    failure: str = ""
    """Why it could not be started at all."""
    wall_seconds: float = 0.0
    """From the moment at which its program began."""
    user_seconds: float = 0.0
    """Processor time of the command and its ended children in their own code."""
    system_seconds: float = 0.0
    """The same in the kernel."""
    max_rss_bytes: int = 0
    """The most memory that the command, or one of its ended children, held by itself; 0 where it
    ended too soon to tell."""
    left_behind: int = 0
    """Processes that the command left running, killed by the guard."""
    survivors: int = 0
    """Processes that could not be killed: they belong to another user."""
    log_omitted_bytes: int = 0
    control_group_kills: int = 0
    """Processes that passed the cap of a control group; not the guard's to know."""


class GuardedProcess:
    """A command under a guard. Leaving the `with` block ends it, whatever happened.

    Without an order the guard starts, and then waits for `begin`: the command starts without the
    time that a guard itself takes to start.
    """

    def __init__(self, order: Order | None = None) -> None:
        announced = [ANNOUNCED] if order is None else []
        self._guard = subprocess.Popen(
            [sys.executable, "-P", "-m", "prumo.supervise.watch", *announced],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._guard.stdin is not None  # noqa: S101 (asked for as a pipe)
        assert self._guard.stdout is not None  # noqa: S101 (asked for as a pipe)
        self._input, self._output = self._guard.stdin, self._guard.stdout
        self._report = b""
        self.ending: Ending | None = None
        if order is None:
            os.read(self._output.fileno(), len(READY))
        else:
            self.begin(order)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the command and everything below it at once, and wait until that is done."""
        self._input.close()
        self._output.close()
        self._guard.wait()

    @property
    def guard_pid(self) -> int:
        """The guard's process number: the command's whole tree hangs below it."""
        return self._guard.pid

    def begin(self, order: Order) -> None:
        """Start the command; only once."""
        self._send(json.dumps(asdict(order)))

    def wait(self, seconds: float, *, wake: int | None = None) -> Ending | None:
        """Wait for the end, at most so long, or until `wake` can be read."""
        descriptors = [self._output.fileno()] + ([] if wake is None else [wake])
        ready, _, _ = select.select(descriptors, [], [], seconds)
        if self._output.fileno() in ready:
            self._read()
        return self.ending

    def stop(self) -> None:
        """Ask the command to end; after the order's `stop_seconds` it is killed."""
        self._send("stop")

    def kill(self) -> None:
        """End the command and everything below it at once."""
        self._send("kill")

    def _send(self, line: str) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._input.write(line.encode() + b"\n")
            self._input.flush()

    def _read(self) -> None:
        chunk = os.read(self._output.fileno(), 65536)
        self._report += chunk
        if self._report.endswith(b"\n"):
            self.ending = Ending(**json.loads(self._report))
        elif not chunk:
            code = self._guard.wait()
            how = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
            self.ending = Ending(failure=f"the guard of this run failed: {how}")
