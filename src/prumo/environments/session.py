"""The commands of one set-up: logged, followed, and ended together with this process."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from prumo.errors import SetupError
from prumo.supervise.child import end
from prumo.supervise.interruption import handled_by
from prumo.supervise.parent_death import dies_with_parent

_STOP_SECONDS = 5.0
_SHOWN_LINES = 6


class CommandError(SetupError):
    """A command failed; what it said is with it."""

    def __init__(self, message: str, lines: Sequence[str]) -> None:
        super().__init__(message)
        self.lines = lines


@dataclass(frozen=True)
class Session:
    """Where the commands of one set-up write, and what they hold while they live."""

    log: TextIO
    log_path: Path
    reservation: int

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        failure: str,
        on_line: Callable[[str], None] = lambda _: None,
    ) -> list[str]:
        """Run a command to its end and give its output, or fail with what it said.

        `failure` says in a user's words what went wrong then; `on_line` gets every line at once.
        """
        self.log.write(f"$ {shlex.join(command)}\n")
        self.log.flush()
        lines: list[str] = []
        with self._running(command, environment) as process:
            for line in process.stdout or ():
                self.log.write(line)
                self.log.flush()
                lines.append(line.rstrip())
                on_line(lines[-1])
        if process.returncode:
            said = "".join(f"\n  {line}" for line in _meaningful(lines))
            raise CommandError(f"{failure}{said}\nthe whole log: {self.log_path}", lines)
        return lines

    @contextmanager
    def _running(
        self, command: Sequence[str], environment: Mapping[str, str]
    ) -> Iterator[subprocess.Popen[str]]:
        """The command's process, ended before an error or an interrupt goes on."""
        process: subprocess.Popen[str] | None = None
        try:
            # Inside Popen, Ctrl-C would lose a started process: it waits for the end of the block.
            interrupts: list[object] = []
            with handled_by(lambda *_: interrupts.append(None), signal.SIGINT):
                process = subprocess.Popen(
                    dies_with_parent(command, group=True),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                    env=environment,
                    pass_fds=(self.reservation,),
                    process_group=0,
                )
            if interrupts:
                signal.raise_signal(signal.SIGINT)
            yield process
            process.wait()
        except BaseException:
            if process:
                # Let pip remove its temporary files, which can be large; then insist.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGINT)
                end(process, _STOP_SECONDS, None, group=True)
            raise
        finally:
            if process and process.stdout:
                process.stdout.close()


def is_network_trouble(line: str) -> bool:
    """Whether pip says that an index is out of reach or out of order.

    One that refuses the page of a package answers: it has no such package.
    """
    if line.startswith("Could not fetch URL"):
        return " Client Error: " not in line
    return line.startswith("WARNING:") and "etrying" in line


def _meaningful(lines: Sequence[str]) -> list[str]:
    """The errors that pip names and the network's last trouble; else the end of what was said."""
    spoken = [line.strip() for line in lines if line.strip()]
    errors = [line for line in spoken if line.startswith("ERROR:")]
    troubles = [line for line in spoken if is_network_trouble(line)]
    return list(dict.fromkeys([*troubles[-1:], *errors] if errors else spoken))[-_SHOWN_LINES:]
