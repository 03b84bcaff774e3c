"""Prumo at a terminal, with somebody who answers its question."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path


def answered_at_terminal(folder: Path, answer: str, *words: object) -> tuple[int, str]:
    """The exit code of a command whose first question is answered, and what the terminal showed."""
    leader, follower = pty.openpty()
    shown = ""
    with subprocess.Popen(
        [sys.executable, "-m", "prumo", *map(str, words)],
        cwd=folder,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=os.environ | {"COLUMNS": "200", "TERM": "dumb"},
    ) as process:
        os.close(follower)
        is_asked = False
        while True:
            try:
                shown += os.read(leader, 65536).decode(errors="replace")
            except OSError:
                # Linux reports the end of a terminal as an error.
                break
            if not is_asked and "[y/N]" in shown:
                is_asked = True
                os.write(leader, f"{answer}\n".encode())
    os.close(leader)
    return process.returncode, shown
