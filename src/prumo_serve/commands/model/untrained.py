"""`prumo model untrained`: a network of the catalog as a package, before anything is trained."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, shown_progress
from prumo.errors import InputError
from prumo_serve.choices import PRECISIONS

if TYPE_CHECKING:
    from prumo.progress import Progress
    from prumo_serve.choices import Precision, RuntimeName
    from prumo_serve.manifest import Manifest

CARD = """\
# {name}, untrained

Its weights are random numbers: it is as fast as a trained network of this form, and what it answers
means nothing. Use it to measure the speed and the cost of an endpoint.
"""

RUNTIMES = ("onnxruntime", "tensorflow")
_SEED = 1
_CALIBRATION_IMAGES = 10
_SIDE_PIXELS = 64

_EPILOG = """\b
Examples:
  prumo model untrained dr_mobilenet --out dr_mobilenet.tar.gz
  prumo model untrained dr_vgg19 --precision int8 --out dr_vgg19-int8
  prumo model untrained resnet50 --size 128 --classes 10 --out resnet50
  prumo model untrained dr_mobilenet --runtime tensorflow \\
    --out saved-model.tar.gz
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
@click.option(
    "--precision",
    type=click.Choice(PRECISIONS["onnxruntime"]),
    default="fp32",
    show_default=True,
    help="Of the network's numbers; int8 is calibrated with drawn images.",
)
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES),
    default="onnxruntime",
    show_default=True,
    help="That it is for; tensorflow gives the same network as a SavedModel, in fp32.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def untrained_command(  # noqa: PLR0913 (one argument per option)
    network: str,
    out: Path,
    size: int | None,
    classes: int | None,
    precision: Precision,
    runtime: RuntimeName,
    as_json: bool,
) -> None:
    """Pack NETWORK of the catalog with random weights, to measure how it would be served.

    It is as fast, as large and as expensive as a trained one. `prumo network list` shows the
    catalog.
    """
    from prumo_serve.package import require_package_name
    from prumo_serve.package.making import PackageRequest, make_package, make_package_of
    from prumo_serve.source.catalog_network import describe_catalog_network, write_catalog_network

    require_package_name(out)
    if precision not in PRECISIONS[runtime]:
        raise InputError(f"--precision {precision}: a network for {runtime} is in fp32")
    with shown_progress() as progress, tempfile.TemporaryDirectory(prefix="prumo-") as folder:
        file = Path(folder) / f"{network}.onnx"
        progress.show(f"drawing the weights of {network}")
        written = write_catalog_network(network, file, size, classes)
        request = PackageRequest(
            name=network,
            task="classification",
            labels=tuple(f"class {number}" for number in range(written.classes)),
            normalization="0..1",
            layout="NCHW" if runtime == "onnxruntime" else "NHWC",
            card=CARD.format(name=network),
            runtime=runtime,
        )
        if runtime == "tensorflow":
            described = file.with_suffix(".json")
            source = describe_catalog_network(network, described, size, classes)
            manifest = make_package_of(source, request, out, progress)
        elif precision == "fp32":
            manifest = make_package(file, request, out, progress)
        else:
            package = Path(folder) / "fp32"
            make_package(file, request, package, progress)
            manifest = _made_smaller(package, precision, out, progress)
    if as_json:
        print_json(manifest)
    else:
        click.echo(f"{out}: {manifest.name}, untrained, version {manifest.version}")


def _made_smaller(package: Path, precision: Precision, out: Path, progress: Progress) -> Manifest:
    """Write a package in a lower precision; that its answers change means nothing."""
    import numpy as np
    from PIL import Image

    from prumo_serve.convert.variant import VariantRequest, make_variant

    images = package.with_name("drawn images")
    images.mkdir()
    generator = np.random.default_rng(_SEED)
    for number in range(_CALIBRATION_IMAGES):
        pixels = generator.integers(0, 256, (_SIDE_PIXELS, _SIDE_PIXELS, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(images / f"{number}.png")
    request = VariantRequest("onnxruntime", precision, images, accept_difference=True)
    return make_variant(package, request, out, progress).manifest
