"""Processes that end when their parent ends, however it ends.

`die_with_parent()` is for a process that is Python already, right after a fork;
`dies_with_parent(command)` wraps any other command. As a script:

    python -P -m prumo.supervise.parent_death [--parent PID] [--group] COMMAND…

It becomes the command by `exec`. With `--group` it stays in between as the leader of a process
group, and when its parent ends it kills the group: the command's own children too.

Linux only. Other systems do not report the death of a parent: there the command is run all the
same, and may outlive a parent that is killed. Standard library only, so that it starts fast.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_PR_SET_PDEATHSIG = 1
# As shells report them. Not `prumo.exit_codes`: run as a script, isolated, nothing of Prumo can be
# imported.
_USAGE, _NOT_STARTED = 2, 127


def die_with_parent(parent: int | None = None, death: signal.Signals = signal.SIGTERM) -> None:
    """Have the kernel send a signal to this process, also after an exec, when its parent ends.

    The parent counts as ended when the thread that started this process ends. By its number, a
    parent that ended before this call is noticed.
    """
    if sys.platform != "linux":
        return
    expected = os.getppid() if parent is None else parent
    c_library().prctl(_PR_SET_PDEATHSIG, int(death), 0, 0, 0)
    if os.getppid() != expected:
        os.kill(os.getpid(), death)


@cache
def c_library() -> ctypes.CDLL:
    """Opened before a fork, so that nothing is left to do after it."""
    return ctypes.CDLL(None)


def dies_with_parent(command: Sequence[str], *, group: bool = False) -> list[str]:
    """The command, wrapped so that it ends with the process that calls this and starts it.

    With `group` its children are killed too: it must then be started as the leader of a group
    (`process_group=0` or `start_new_session=True`).
    """
    # By its path: no site-packages to look through, and no PYTHONPATH that could mislead.
    script = [sys.executable, "-I", "-S", str(Path(__file__).absolute())]
    return [*script, "--parent", str(os.getpid()), *(["--group"] if group else []), *command]


def main(arguments: Sequence[str]) -> int:
    """Become the command, or run it and give its exit code."""
    words = list(arguments)
    parent = None
    if words[:1] == ["--parent"] and words[1:2] and words[1].isdecimal():
        parent, words = int(words[1]), words[2:]
    group = words[:1] == ["--group"]
    command = words[1:] if group else words
    if not command or command[0].startswith("--"):
        sys.stderr.write("usage: parent_death [--parent PID] [--group] COMMAND...\n")
        return _USAGE
    if group:
        signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
        # An interrupt is the command's to handle; unlike SIG_IGN, a handler is not inherited by it.
        signal.signal(signal.SIGINT, lambda *_: None)
    die_with_parent(parent)
    if group:
        return subprocess.call(command, close_fds=False)
    try:
        os.execvp(command[0], command)  # noqa: S606 (without a shell, as wanted)
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        return _NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
