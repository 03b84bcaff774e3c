"""`prumo model`: from a trained network to one that is ready to answer."""

from __future__ import annotations

import click

from prumo.cli.group import LazyGroup, in_section
from prumo.errors import UnavailableError

COMMANDS = {
    "package": "Pack a model with all that its answers depend on into model.tar.gz.",
    "untrained": "Pack a network of the catalog with random weights, to measure its serving.",
    "show": "Show what a packaged model is.",
    "check": "Check that a packaged model is whole, safe, and answers.",
    "convert": "Make another runtime's network of a model, or a lower-precision one.",
    "compare": "Compare variants of a model: size, latency, memory and what they answer.",
}

MODULES = {
    "package": "package:package_command",
    "untrained": "untrained:untrained_command",
    "show": "package:show_command",
    "check": "package:check_command",
    "convert": "variants:convert_command",
    "compare": "variants:compare_command",
}

EPILOG = """\b
Example:
  prumo model package model --out model.tar.gz
  prumo model convert model.tar.gz --precision int8 \\
    --calibration photographs --out int8.tar.gz
  prumo model compare model.tar.gz int8.tar.gz --images labelled
  prumo serve int8.tar.gz
"""


class ModelGroup(LazyGroup):
    """Says which extra a command needs that cannot be imported."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            raise UnavailableError(
                f"prumo model {ctx.invoked_subcommand} needs {error.name}: install it with "
                "pip install 'prumo[model]'"
            ) from error


@in_section("Models and endpoints")
@click.group(
    cls=ModelGroup,
    package="prumo_serve.commands.model",
    summaries=COMMANDS,
    modules=MODULES,
    epilog=EPILOG,
)
def command() -> None:
    """Package, convert, quantize and compare models."""
