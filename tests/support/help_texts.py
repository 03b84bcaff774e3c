"""The help of every command, those of plug-ins too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prumo.cli import group

if TYPE_CHECKING:
    from collections.abc import Iterator


def help_texts(width: int) -> Iterator[tuple[str, str]]:
    """The words that call a command, and its help on a terminal of so many columns."""
    return _below(group, "prumo", width, None)


def _below(
    command: click.Command, name: str, width: int, above: click.Context | None
) -> Iterator[tuple[str, str]]:
    context = click.Context(command, above, name, terminal_width=width, **command.context_settings)
    # Click keeps the option of its first use, which may have been by another test, by itself.
    command._help_option = None
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _below(found, below, width, context)
