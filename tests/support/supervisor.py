"""A real process that does what a test tells it, as the root of a process tree."""

from __future__ import annotations

import subprocess
import sys

OBEY = """
import subprocess, sys, threading, time
def burn(seconds):
    while time.process_time() < seconds: pass
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


class Supervisor:
    """A real process that does what it is told, as the root of a tree."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", OBEY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid

    def do(self, code: str) -> None:
        """Have one line of Python done, to its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{code}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"

    def end_unreaped(self) -> None:
        """End it, but leave it to be waited for."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        assert self._process.stdout.readline() == ""

    def reap(self) -> None:
        self._process.wait()
