"""Where commands print their tables."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import click
from rich.console import Console
from rich.markup import escape

from prumo.progress import LineProgress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.status import Status

    from prumo.progress import Progress


# A pipe has no width of its own; this is wide enough for every table row.
PIPED_WIDTH = 200


def table_console() -> Console:
    """The terminal, or a pipe in which nothing need be folded."""
    return _PipeConsole(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False)


class _PipeConsole(Console):
    """One that leaves a reader who has gone to the command line, which knows the exit code."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """A listener for the standard error, so that the standard output stays for results."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield plain_progress()
        return
    with console.status("") as status:
        yield StatusProgress(status)


def plain_progress() -> LineProgress:
    """Every report on a line of its own; activities are set off."""
    return LineProgress(partial(click.echo, err=True), indent="  ")


class StatusProgress:
    """One line that says what is happening now; what is worth keeping goes above it."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def say(self, text: str) -> None:
        """Print it above the status line."""
        self._status.console.print(escape(text), highlight=False)

    def show(self, text: str, detail: str = "") -> None:
        """Put it in the status line, cut to the terminal's width."""
        text = f"{text}: {detail}" if detail else text
        room = max(20, self._status.console.width - 4)
        self._status.update(escape(text if len(text) <= room else text[: room - 1] + "…"))
