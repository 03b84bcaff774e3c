"""`prumo model convert`: another runtime's network of a model, or one of smaller numbers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from prumo.cli.console import shown_progress
from prumo_serve.convert.variant import VariantWish, make_variant
from prumo_serve.manifest import Precision, RuntimeName

if TYPE_CHECKING:
    from prumo_serve.convert.variant import Variant

_TARGETS: dict[str, RuntimeName] = {
    "onnx": "onnxruntime",
    "openvino": "openvino",
    "litert": "litert",
    "tensorflow": "tensorflow",
    "pytorch": "pytorch",
}

EPILOG = """\b
Examples:
  prumo model convert model.tar.gz --to openvino --out openvino.tar.gz
  prumo model convert model.tar.gz --precision int8 --calibration photographs --out int8.tar.gz
  prumo model convert model --to litert --precision fp16 --out litert.tar.gz
"""


@click.command(epilog=EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "target",
    type=click.Choice(list(_TARGETS)),
    default="onnx",
    show_default=True,
    help="The runtime that will compute it.",
)
@click.option(
    "--precision",
    type=click.Choice(get_args(Precision)),
    default="fp32",
    show_default=True,
    help="Of the network's numbers.",
)
@click.option(
    "--calibration",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Images such as the model will be asked about: int8 learns its ranges from a hundred.",
)
@click.option(
    "--accept-difference",
    is_flag=True,
    help="Write it even if it is shown to give more than 5 % of such images another label.",
)
@click.option(
    "--original",
    type=click.Path(path_type=Path),
    metavar="MODEL",
    help="What the package was made of, for runtimes that cannot be reached from ONNX.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="An archive if it ends in .tar.gz or .tgz, else a folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was made as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    model: Path,
    target: str,
    precision: Precision,
    calibration: Path | None,
    accept_difference: bool,
    original: Path | None,
    out: Path,
    as_json: bool,
) -> None:
    """Make another runtime's network of MODEL, or one of smaller numbers.

    MODEL is a package, or a model that says enough about itself to become one: a folder that the
    training of an installed task wrote. ONNX and OpenVINO are made of the ONNX network that a
    package holds. LiteRT and TensorFlow need a model of TensorFlow's: the folder itself, or the
    package together with --original.

    Both networks are asked about the same images before anything is written; one that does not
    answer what the other answers is refused. What smaller numbers cost, `prumo model compare`
    tells.
    """
    wish = VariantWish(_TARGETS[target], precision, calibration, original, accept_difference)
    with shown_progress() as progress:
        variant = make_variant(model, wish, out, progress)
    if as_json:
        click.echo(json.dumps(_document(variant, out), indent=1))
        return
    manifest = variant.manifest
    click.echo(
        f"{out}: {manifest.name}, version {manifest.version}, {manifest.network.precision} for "
        f"{manifest.network.runtime}; {variant.nearness}"
    )
    if variant.calibration:
        for name in ("ungradable", "unreadable"):
            if count := getattr(variant.calibration, name):
                click.echo(f"{count} images that were drawn are {name} and were left out")


def _document(variant: Variant, out: Path) -> dict[str, object]:
    calibration = variant.calibration
    used = (
        {
            "images": calibration.count,
            "ungradable": calibration.ungradable,
            "unreadable": calibration.unreadable,
        }
        if calibration
        else None
    )
    return {
        "out": str(out),
        "manifest": variant.manifest.model_dump(mode="json"),
        "agreement": asdict(variant.agreement),
        "calibration": used,
        "difference": asdict(variant.difference) if variant.difference else None,
    }
