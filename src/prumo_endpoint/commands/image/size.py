"""`prumo image size`: what an image weighs."""

from __future__ import annotations

import click

from prumo.cli.console import print_columns, print_json, shown_progress
from prumo_endpoint.image.engine import ENGINES, chosen_engine
from prumo_endpoint.image.layers import ImageSize, saved_image

MB = 1_000_000
_WORDS = 44


@click.command(epilog="Example:  prumo image size mobilenet")
@click.argument("image")
@click.option("--engine", type=click.Choice(ENGINES), help="[default: the first one that works]")
@click.option("--json", "as_json", is_flag=True, help="Print bytes as JSON.")
def command(image: str, engine: str | None, as_json: bool) -> None:
    """Show what IMAGE weighs: compressed as registries store it, and on disk.

    MB are 1,000,000 bytes. The compressed size is found by compressing each layer with gzip.
    """
    with shown_progress() as progress, saved_image(chosen_engine(engine), image, progress) as saved:
        size = saved.size(progress)
    if as_json:
        print_json(size.document())
        return
    click.echo(size_sentence(size))
    rows = [
        [
            f"{layer.compressed_bytes / MB:.1f}",
            f"{layer.disk_bytes / MB:.1f}",
            _short(layer.created_by),
        ]
        for layer in size.layers
    ]
    print_columns(["compressed MB", "on disk MB", "layer"], rows)


def size_sentence(size: ImageSize) -> str:
    """The two totals."""
    return (
        f"{size.image}: {size.compressed_bytes / MB:.1f} MB compressed, "
        f"{size.disk_bytes / MB:.1f} MB on disk, {len(size.layers)} layers"
    )


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _WORDS else words[: _WORDS - 1] + "…"
