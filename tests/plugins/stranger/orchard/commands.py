"""A command group: `prumo orchard`."""

import click

from prumo.cli.group import in_section


@in_section("Models and endpoints")
@click.group()
def command() -> None:
    """Ask the orchard."""


@command.command()
@click.argument("fruit")
def season(fruit: str) -> None:
    """Say when a fruit is ripe."""
    from orchard.calendar import MONTHS  # noqa: PLC0415 (only when it is called)

    click.echo(MONTHS.get(fruit, "unknown"))
