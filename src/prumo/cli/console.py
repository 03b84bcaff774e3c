"""Where commands print their tables."""

from __future__ import annotations

import sys
from typing import NoReturn

from rich.console import Console

# A pipe has no width of its own; this is wide enough for every table row.
PIPED_WIDTH = 200


def table_console() -> Console:
    """The terminal, or a pipe in which nothing need be folded."""
    return _PipeConsole(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False)


class _PipeConsole(Console):
    """One that leaves a reader who has gone to the command line, which knows the exit code."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError
