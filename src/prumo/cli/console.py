"""Where commands print: tables, JSON for programs, and progress. Rich is loaded when needed."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import click

from prumo.files import json_text
from prumo.progress import LineProgress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.status import Status

    from prumo.progress import Progress


# A pipe has no width of its own; this is wide enough for every table row.
PIPED_WIDTH = 200


def table_console() -> Console:
    """The terminal, or a pipe in which nothing need be folded."""
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> NoReturn:
            # Rich would end the process; the command line knows the right exit code.
            raise BrokenPipeError

    return PipeConsole(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False)


def print_json(content: object, *, one_line: bool = False) -> None:
    """Print a document for programs; one line where several documents follow one another."""
    click.echo(json_text(content, indent=None if one_line else 1))


def print_columns(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as plain text, its cells one below the other."""
    table = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def date_of(moment: str) -> str:
    """The day of a moment.

    >>> date_of("2026-11-17T20:51:04+00:00")
    '2026-11-17'
    """
    return moment.partition("T")[0]


def levels_text(factors: Mapping[str, object]) -> str:
    """The levels of a run in a line.

    >>> levels_text({"network": "rede1", "batch_size": 32})
    'network=rede1 batch_size=32'
    """
    return " ".join(f"{name}={level}" for name, level in factors.items())


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """A listener for the standard error, so that the standard output stays for results."""
    from rich.console import Console

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
        from rich.markup import escape

        self._status.console.print(escape(text), highlight=False)

    def show(self, text: str, detail: str = "") -> None:
        """Put it in the status line, cut to the terminal's width."""
        from rich.markup import escape

        text = f"{text}: {detail}" if detail else text
        room = max(20, self._status.console.width - 4)
        self._status.update(escape(text if len(text) <= room else text[: room - 1] + "…"))
