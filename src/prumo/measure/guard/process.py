"""Prumo's side of a guard: start a command, wait for its end, stop it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Self

from prumo.measure.guard.order import Ending

if TYPE_CHECKING:
    from types import TracebackType

    from prumo.measure.guard.order import Order


class GuardedProcess:
    """A command under a guard. Leaving the `with` block ends it, whatever happened."""

    def __init__(self, order: Order) -> None:
        self._guard = subprocess.Popen(
            [sys.executable, "-P", "-m", "prumo.measure.guard"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._report = b""
        self.ending: Ending | None = None
        self._send(json.dumps(asdict(order)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._input.close()
        self._output.close()
        self._guard.wait()

    @property
    def guard_pid(self) -> int:
        """The guard's process number: the command's whole tree hangs below it."""
        return self._guard.pid

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

    @property
    def _input(self) -> IO[bytes]:
        assert self._guard.stdin is not None  # noqa: S101 (asked for as a pipe)
        return self._guard.stdin

    @property
    def _output(self) -> IO[bytes]:
        assert self._guard.stdout is not None  # noqa: S101 (asked for as a pipe)
        return self._guard.stdout

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
            self.ending = Ending(failure=f"the guard of this run came to a bad end: {how}")
