"""`prumo endpoint`: where a model answers."""

from __future__ import annotations

import click

from prumo.cli.group import LazyGroup, in_section

COMMANDS = {
    "check": "Check whether a server, a command or a container image keeps SageMaker's rules.",
    "clean": "Remove what a study left on SageMaker.",
    "deploy": "Bring a model up behind a SageMaker endpoint.",
    "update": "Change an endpoint; back to the former version if the new one is not healthy.",
    "list": "List deployments: what runs, and what it costs.",
    "show": "Show one deployment and everything that exists for it.",
    "invoke": "Ask a deployed endpoint.",
    "destroy": "Remove a deployment, look for what is left, and write a certificate.",
    "leftovers": "Look for anything that Prumo made in an account and nobody removed.",
    "keep-warm": "Compare ways to keep a serverless endpoint warm: cold answers against money.",
}

DEPLOYMENT_COMMANDS = ("show", "invoke", "destroy", "leftovers")

EPILOG = """\b
Example:
  prumo endpoint check http://localhost:8080
  prumo endpoint deploy model.tar.gz --memory 2048 --expires 4h
  prumo endpoint keep-warm calls.csv --cold 12.5 --warm 0.36 --memory-gb 2
"""


@in_section("Models and endpoints")
@click.group(
    cls=LazyGroup,
    package="prumo_endpoint.commands",
    summaries=COMMANDS,
    modules={
        "keep-warm": "keep_warm",
        "deploy": "deploy:deploy",
        "update": "deploy:update",
        "list": "deployments:list_command",
        **{name: f"deployments:{name}" for name in DEPLOYMENT_COMMANDS},
    },
    epilog=EPILOG,
)
def command() -> None:
    """Deploy models, check where they answer, and remove them again."""
