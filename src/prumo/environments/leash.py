"""A script: runs a command that must not outlive the process that asked for it.

    python leash.py PARENT COMMAND…

The kernel tells this process when its parent dies, however it dies, and it then kills its whole
process group: pip's own children too, which no signal from the parent could reach any more.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1


def main() -> int:
    """Run the command; its exit code."""
    parent, *command = sys.argv[1:]
    signal.signal(signal.SIGTERM, _kill_group)
    # An interrupt is the command's to handle; a handler, unlike SIG_IGN, is not inherited by it.
    signal.signal(signal.SIGINT, lambda *_: None)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):
        _kill_group()
    return subprocess.call(command, close_fds=False)


def _kill_group(*_: object) -> None:
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
