"""`prumo endpoint`: where a model answers."""

from __future__ import annotations

import click

from prumo.cli.group import LazyGroup, in_section

COMMANDS = {
    "check": "Check whether a server, a command or a container image keeps SageMaker's rules.",
}

EPILOG = """\b
Example:
  prumo endpoint check http://localhost:8080
"""


@in_section("Models and endpoints")
@click.group(cls=LazyGroup, package="prumo_endpoint.commands", summaries=COMMANDS, epilog=EPILOG)
def command() -> None:
    """Check where a model answers."""
