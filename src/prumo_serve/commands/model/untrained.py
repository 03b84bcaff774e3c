"""`prumo model untrained`: a network of the catalog as a package, before anything is trained."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from prumo.cli.console import print_json, shown_progress
from prumo_serve.package import require_package_name
from prumo_serve.package.making import PackageRequest, make_package
from prumo_serve.source.catalog_network import write_catalog_network

CARD = """\
# {name}, untrained

Its weights are random numbers: it is as fast as a trained network of this form, and what it answers
means nothing. Use it to measure the speed and the cost of an endpoint.
"""

_EPILOG = """\b
Examples:
  prumo model untrained dr_mobilenet --out dr_mobilenet.tar.gz
  prumo model untrained resnet50 --size 128 --classes 10 --out resnet50
"""


@click.command(epilog=_EPILOG)
@click.argument("network")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="An archive if it ends in .tar.gz or .tgz, else a folder.",
)
@click.option(
    "--size",
    type=click.IntRange(1, 4096),
    metavar="PIXELS",
    help="Side of the images.  [default: the network's own]",
)
@click.option(
    "--classes",
    type=click.IntRange(2, 100_000),
    metavar="N",
    help="That it tells apart.  [default: the network's own]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def untrained_command(
    network: str, out: Path, size: int | None, classes: int | None, as_json: bool
) -> None:
    """Pack NETWORK of the catalog with random weights, to measure how it would be served.

    It is as fast, as large and as expensive as a trained one. `prumo network list` shows the
    catalog.
    """
    require_package_name(out)
    with shown_progress() as progress, tempfile.TemporaryDirectory(prefix="prumo-") as folder:
        file = Path(folder) / f"{network}.onnx"
        progress.show(f"drawing the weights of {network}")
        written = write_catalog_network(network, file, size, classes)
        request = PackageRequest(
            name=network,
            task="classification",
            labels=tuple(f"class {number}" for number in range(written.classes)),
            normalization="0..1",
            layout="NCHW",
            card=CARD.format(name=network),
        )
        manifest = make_package(file, request, out, progress)
    if as_json:
        print_json(manifest)
    else:
        click.echo(f"{out}: {manifest.name}, untrained, version {manifest.version}")
