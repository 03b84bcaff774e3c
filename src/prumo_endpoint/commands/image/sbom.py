"""`prumo image sbom`: the packages in an image."""

from __future__ import annotations

import click

from prumo.cli.console import print_json, shown_progress
from prumo_endpoint.image.engine import ENGINES, chosen_engine
from prumo_endpoint.image.layers import saved_image
from prumo_endpoint.image.sbom import bill_of_materials


@click.command(epilog="Example:  prumo image sbom mobilenet > mobilenet.cdx.json")
@click.argument("image")
@click.option("--engine", type=click.Choice(ENGINES), help="[default: the first one that works]")
def command(image: str, engine: str | None) -> None:
    """List the Debian and Python packages in IMAGE, as CycloneDX 1.5 in JSON."""
    with shown_progress() as progress, saved_image(chosen_engine(engine), image, progress) as saved:
        document = bill_of_materials(saved, image)
    print_json(document)
