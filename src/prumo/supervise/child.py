"""The end of a child process that this one started."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress


def end(
    process: subprocess.Popen[str] | subprocess.Popen[bytes],
    seconds: float,
    number: signal.Signals | None = signal.SIGTERM,
    *,
    group: bool = False,
) -> None:
    """Ask a process to end, wait, and kill what is left of it, also when the wait is interrupted.

    Without a signal it has been asked already. With `group` its children are killed too: it must
    have been started as the leader of a group.
    """
    try:
        if number is not None:
            process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    finally:
        if group:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
