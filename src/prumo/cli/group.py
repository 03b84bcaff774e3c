"""A group of commands that are imported only when they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

import click

APPLICATIONS = "Applications"
_Command = TypeVar("_Command", bound=click.Command)


def in_section(title: str) -> Callable[[_Command], _Command]:
    """Put a plug-in's command under another title of `prumo --help` than "Applications"."""

    def placed(command: _Command) -> _Command:
        setattr(command, _SECTION, title)
        return command

    return placed


def section_of(command: click.Command) -> str:
    """The title that a command stands under in `prumo --help`."""
    return str(getattr(command, _SECTION, APPLICATIONS))


_SECTION = "prumo_section"


class LazyGroup(click.Group):
    """Lists its commands from their names alone; each file of a command has a `command`."""

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 (as click's own)
        package: str,
        summaries: Mapping[str, str],
        modules: Mapping[str, str] | None = None,
        **options: Any,  # noqa: ANN401 (as click's own)
    ) -> None:
        super().__init__(*arguments, **options)
        self._package = package
        self._summaries = summaries
        self._modules = modules or {}
        """Of commands that are no `command` in a module of their own name: MODULE[:VARIABLE]."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order of the flow."""
        del ctx
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command's file and take its `command`."""
        del ctx
        if cmd_name not in self._summaries:
            return None
        name, _, variable = self._modules.get(cmd_name, cmd_name).partition(":")
        module = import_module(f"{self._package}.{name}")
        command: click.Command = getattr(module, variable or "command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command when one is misspelt."""
        if args and args[0] not in self._summaries and not args[0].startswith("-"):
            known = self.list_commands(ctx)
            if args[0] not in known:
                from prumo.errors import did_you_mean

                ctx.fail(f"No such command '{args[0]}': {did_you_mean(args[0], known)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the table of commands from the names alone."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))
