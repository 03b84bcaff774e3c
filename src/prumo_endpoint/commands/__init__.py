"""`prumo endpoint`: where a model answers."""

from __future__ import annotations

import click

from prumo.cli.group import LazyGroup, in_section

COMMANDS = {
    "check": "Check whether a server, a command or a container image keeps SageMaker's rules.",
    "keep-warm": "Compare ways to keep a serverless endpoint warm: cold answers against money.",
}

EPILOG = """\b
Example:
  prumo endpoint check http://localhost:8080
  prumo endpoint keep-warm calls.csv --cold 12.5 --warm 0.36 --memory-gb 2
"""


@in_section("Models and endpoints")
@click.group(
    cls=LazyGroup,
    package="prumo_endpoint.commands",
    summaries=COMMANDS,
    modules={"keep-warm": "keep_warm"},
    epilog=EPILOG,
)
def command() -> None:
    """Check where a model answers, and what it costs to keep it warm."""
