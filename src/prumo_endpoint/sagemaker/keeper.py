"""The keeper: a process that outlives the controller and removes what it created.

    python -m prumo_endpoint.sagemaker.keeper LEDGER

It waits at a pipe. A line names a group of resources to remove now; when the pipe closes, because
the controller is done, was interrupted or was killed, everything in the ledger is removed. Only one
keeper works on a ledger at a time: another one waits for its end.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import PrumoError
from prumo.exit_codes import ExitCode
from prumo.machine.kernel import CLEANUP_VARIABLE
from prumo_endpoint.ledger import Ledger, Resource
from prumo_endpoint.sagemaker.resources import Removal, by_hand

if TYPE_CHECKING:
    from prumo.progress import Progress

LOG_ENDING = ".log"
PATIENCE_SECONDS = 6 * 3600.0
"""How long the keeper tries, where the network or the credentials are lost."""
_GROUP_PATIENCE_SECONDS = 1800.0


class Keeper:
    """The controller's side: removal of groups on the way, and of everything at the end."""

    def __init__(self, ledger: Ledger, progress: Progress) -> None:
        self._ledger = ledger
        self._progress = progress
        self._log = ledger.path.with_name(ledger.path.name + LOG_ENDING)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "prumo_endpoint.sagemaker.keeper", str(ledger.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                env={**os.environ, CLEANUP_VARIABLE: "1"},
            )
        self._await()

    def remove(self, group: str) -> None:
        """Remove a group now, and wait for it."""
        assert self._process.stdin is not None  # noqa: S101 (asked for as a pipe)
        with suppress(BrokenPipeError):
            self._process.stdin.write(group + "\n")
            self._process.stdin.flush()
        self._await()

    def close(self) -> list[Resource]:
        """Remove everything and wait for it; what remains.

        Ctrl-C leaves the rest to the keeper, which goes on by itself.
        """
        assert self._process.stdin is not None  # noqa: S101 (asked for as a pipe)
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._await()
            self._process.wait()
        except KeyboardInterrupt:
            self._progress.say(f"removal goes on in the background; its log is {self._log}")
            raise
        remaining = [entry.resource for entry in self._ledger.remaining()]
        for line in remains_text(remaining):
            self._progress.say(line)
        return remaining

    def _await(self) -> None:
        """Pass on what the keeper says until it is done with what it was asked for."""
        assert self._process.stdout is not None  # noqa: S101 (asked for as a pipe)
        for line in self._process.stdout:
            said = json.loads(line)
            if said["done"]:
                return
            self._progress.show(said["text"])
            if said["is_trouble"]:
                self._progress.say(said["text"])
        if self._process.stdin is not None and not self._process.stdin.closed:
            raise PrumoError(f"the keeper has ended; its log is {self._log}")


def remains_text(remaining: list[Resource]) -> list[str]:
    """What to tell the user of resources that are still there."""
    if not remaining:
        return []
    lines = [f"{len(remaining)} resources may still exist and cost money. Remove them with:"]
    return lines + [f"  {command}" for command in by_hand(remaining)]


def main(path: str) -> int:
    """Keep a ledger until the pipe closes."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    ledger = Ledger(Path(path))
    with Path(f"{path}.lock").open("a") as lock:
        _lock(lock)
        removal = Removal(ledger, _say)
        # What an earlier keeper could not remove, because it was killed too.
        removal.remove(_GROUP_PATIENCE_SECONDS)
        _report(text="", done=True)
        for line in sys.stdin:
            removal.remove(_GROUP_PATIENCE_SECONDS, line.rstrip("\n"))
            _report(text="", done=True)
        remaining = removal.remove(PATIENCE_SECONDS)
        for line in remains_text(remaining):
            _log(line)
        _report(text="", done=True)
    return ExitCode.FINDINGS if remaining else ExitCode.DONE


def _lock(file: Any) -> None:  # noqa: ANN401 (any file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        _say("an earlier run is still removing what it created; waiting for it")
        fcntl.flock(file, fcntl.LOCK_EX)


def _say(text: str) -> None:
    _log(text)
    _report(text=text, done=False, is_trouble="cannot" in text)


def _log(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {text}\n")
        sys.stderr.flush()


def _report(*, text: str, done: bool, is_trouble: bool = False) -> None:
    # The controller may be gone.
    with suppress(OSError, ValueError):
        sys.stdout.write(json.dumps({"text": text, "done": done, "is_trouble": is_trouble}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
