"""A table of texts on a terminal."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from prumo.report.sections.section import TextTable


MOST_NAME_COLUMNS = 32
"""Longer names of rows are folded, so that the table fits 80 columns with six figures."""


def print_table(content: TextTable, console: Console) -> None:
    """Its title, its heads, and a line per row; a head is as narrow as the cells below it."""
    table = Table(
        title=content.title,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for place, head in enumerate(content.heads):
        width = max(map(len, [*head.split(), *(row[place] for row in content.rows)]))
        table.add_column(
            fill(head, width),
            justify="left" if place < content.words else "right",
            max_width=None if place else MOST_NAME_COLUMNS,
        )
    for row in content.rows:
        table.add_row(*map(Text, row))
    console.print()
    console.print(table)
