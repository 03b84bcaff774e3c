"""A command group: `prumo orchard`."""

import click

from prumo.cli.group import in_section

MONTHS = {"apple": "February to May", "mango": "October to January"}


@in_section("Models and endpoints")
@click.group()
def command() -> None:
    """Ask the orchard."""


@command.command()
@click.argument("fruit")
def season(fruit: str) -> None:
    """Say when a fruit is ripe."""
    click.echo(MONTHS.get(fruit, "unknown"))
