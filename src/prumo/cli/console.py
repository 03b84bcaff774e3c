"""Where commands print their tables."""

from __future__ import annotations

import sys

from rich.console import Console

# A pipe has no width of its own; this is wide enough for every table row.
PIPED_WIDTH = 200


def table_console() -> Console:
    """The terminal, or a pipe in which nothing need be folded."""
    return Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False)
