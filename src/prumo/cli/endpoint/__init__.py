"""`prumo endpoint`: where a model answers."""

from __future__ import annotations

import click

from prumo.cli.group import LazyGroup

COMMANDS = {
    "check": "Check whether a server, a command or a container image keeps SageMaker's rules.",
}

EPILOG = """\b
Example:
  prumo endpoint check http://localhost:8080
"""


@click.group(cls=LazyGroup, package="prumo.cli.endpoint", summaries=COMMANDS, epilog=EPILOG)
def command() -> None:
    """Check where a model answers."""
