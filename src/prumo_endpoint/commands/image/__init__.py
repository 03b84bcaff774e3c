"""`prumo image`: container images of a server."""

from __future__ import annotations

import click

from prumo.cli.group import LazyGroup, in_section

COMMANDS = {
    "build": "Build an image that serves a model, for x86-64 or ARM64.",
    "size": "Show what an image weighs, compressed and on disk, layer by layer.",
    "diet": "Remove the files that a server never touches, and prove that it answers the same.",
    "sbom": "List the packages in an image, as CycloneDX.",
}

EPILOG = """\b
Example:
  prumo image build --variant lean --tag mobilenet model.tar.gz
  prumo image diet mobilenet --out mobilenet-small
  prumo image size mobilenet-small
"""


@in_section("Models and endpoints")
@click.group(
    cls=LazyGroup, package="prumo_endpoint.commands.image", summaries=COMMANDS, epilog=EPILOG
)
def command() -> None:
    """Build, measure and shrink container images."""
