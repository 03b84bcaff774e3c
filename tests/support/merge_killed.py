"""Merges that are killed, each at another of its file operations.

A process of its own, which forks: `python merge_killed.py FROM INTO COPIES` merges FROM into a
copy of INTO per operation, until one comes to its end: COPIES/1, COPIES/2 and so on.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.results.folder import ResultsFolder
from prumo.results.merge import merge

if TYPE_CHECKING:
    from types import FrameType

SYSTEM_CALLS = {
    *("open", "sendfile", "copy_file_range", "write", "fsync"),
    *("mkdir", "unlink", "rename", "replace", "rmdir"),
}


def merge_until_one_survives(source: Path, target: Path, copies: Path) -> None:
    for operation in count(1):
        copy = copies / str(operation)
        shutil.copytree(target, copy)
        process = os.fork()
        if process == 0:
            _kill_before(operation)
            merge(ResultsFolder(source), ResultsFolder(copy))
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if status != -signal.SIGKILL:
            sys.exit(status)


def _kill_before(operation: int) -> None:
    """Let this process end just before its n-th operation on a file."""
    left = operation

    def count_down(_frame: FrameType | None, event: str, called: object) -> None:
        nonlocal left
        if event == "c_call" and getattr(called, "__name__", "") in SYSTEM_CALLS:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count_down)


if __name__ == "__main__":
    merge_until_one_survives(*map(Path, sys.argv[1:]))
