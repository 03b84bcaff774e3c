"""`prumo image build`: an image that serves a model."""

from __future__ import annotations

from pathlib import Path

import click

from prumo.cli.console import shown_progress
from prumo.files import write_json
from prumo_endpoint.image.build import DEFAULT_BASE, VARIANTS, Plan, build_image
from prumo_endpoint.image.engine import ENGINES, PLATFORMS, chosen_engine, own_platform
from prumo_endpoint.image.layers import saved_image
from prumo_endpoint.image.sbom import bill_of_materials

EPILOG = """\b
Examples:
  prumo image build --tag mobilenet model.tar.gz
  prumo image build --platform linux/arm64 --tag mobilenet:arm64 \\
    --sbom mobilenet.cdx.json model
  prumo image build --variant reduced --base debian-python \\
    --tag tensorflow saved-model.tar.gz
"""


@click.command(epilog=EPILOG)
@click.argument("model", type=click.Path(path_type=Path), required=False)
@click.option(
    "--variant",
    default="lean",
    show_default=True,
    metavar="NAME",
    help="; ".join(f"{name}: {variant.summary}" for name, variant in VARIANTS.items()) + ".",
)
@click.option(
    "--runtime",
    metavar="NAME",
    help="Computes the network: onnxruntime, openvino or litert in lean, tensorflow in the others."
    "  [default: the model's own, or onnxruntime]",
)
@click.option(
    "--platform",
    "target",
    metavar="NAME",
    help=f"{' or '.join(PLATFORMS)}.  [default: that of this machine]",
)
@click.option(
    "--base",
    default=DEFAULT_BASE,
    show_default=True,
    metavar="IMAGE",
    help="Image with Python 3.11 or newer to start from; pulled if it is not here.",
)
@click.option("--tag", metavar="NAME", help="Of the new image.  [default: prumo-VARIANT]")
@click.option(
    "--wheelhouse",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Take packages from these wheels only.  [default: as pip is configured here]",
)
@click.option(
    "--sbom",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the packages of the image as CycloneDX JSON.",
)
@click.option("--engine", type=click.Choice(ENGINES), help="[default: the first one that works]")
def command(  # noqa: PLR0913 (one argument per option)
    model: Path | None,
    variant: str,
    runtime: str | None,
    target: str | None,
    base: str,
    tag: str | None,
    wheelhouse: Path | None,
    sbom: Path | None,
    engine: str | None,
) -> None:
    """Build an image that serves MODEL, with Docker, Podman or Buildah.

    MODEL is what `prumo model package` wrote; it becomes /opt/ml/model of the image. Without MODEL
    the image serves what is mounted there, as SageMaker does.
    """
    name = tag or f"prumo-{variant}"
    plan = Plan(variant, runtime, target or own_platform(), base, name, model, wheelhouse)
    chosen = chosen_engine(engine)
    with shown_progress() as progress:
        build_image(plan, chosen, progress)
        if sbom is not None:
            with saved_image(chosen, name, progress) as saved:
                write_json(sbom, bill_of_materials(saved, name))
    click.echo(f"{name}: {variant} for {plan.platform}. Try it: prumo endpoint check {name}")
