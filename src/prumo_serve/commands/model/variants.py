"""`prumo model convert` and `compare`: variants of a model, made and measured."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from prumo.cli.console import print_json, shown_progress, table_console
from prumo_serve.choices import ALL, PRECISIONS, Pace, Precision

if TYPE_CHECKING:
    from prumo_serve.convert.variant import Variant


# As users call them: onnx for onnxruntime.
_TARGETS = {name.removesuffix("runtime"): name for name in PRECISIONS}

_CONVERT_EPILOG = """\b
Examples:
  prumo model convert model.tar.gz --to openvino --out openvino.tar.gz
  prumo model convert model.tar.gz --precision int8 \\
    --calibration photographs --out int8.tar.gz
  prumo model convert model --to litert --precision fp16 --out litert.tar.gz
"""


@click.command(epilog=_CONVERT_EPILOG)
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
def convert_command(model: Path, target: str, out: Path, as_json: bool, **options: Any) -> None:  # noqa: ANN401 (click's values, checked above)
    """Make another runtime's network of MODEL, or a lower-precision one.

    MODEL is a package, or a model that says enough about itself to become one: a folder that the
    training of an installed task wrote. ONNX and OpenVINO are made of the ONNX network that a
    package holds. LiteRT and TensorFlow need a model of TensorFlow's: the folder itself, or the
    package together with --original.

    Both networks are asked about the same images before anything is written; one that does not
    answer what the other answers is refused. `prumo model compare` shows what the lower precision
    costs.
    """
    from prumo_serve.convert.variant import VariantRequest, make_variant

    request = VariantRequest(_TARGETS[target], **options)
    with shown_progress() as progress:
        variant = make_variant(model, request, out, progress)
    if as_json:
        print_json(_document(variant, out))
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
    used = variant.calibration and {
        "images": variant.calibration.count,
        "ungradable": variant.calibration.ungradable,
        "unreadable": variant.calibration.unreadable,
    }
    return {
        "out": str(out),
        "manifest": variant.manifest.model_dump(mode="json"),
        "agreement": asdict(variant.agreement),
        "calibration": used,
        "difference": variant.difference and asdict(variant.difference),
    }


_COMPARE_EPILOG = """\b
Examples:
  prumo model compare model.tar.gz int8.tar.gz
  prumo model compare model.tar.gz fp16.tar.gz int8.tar.gz \\
    --images photographs --labels labels.csv
  prumo model compare model.tar.gz int8.tar.gz --images prepared \\
    --subset test --json
"""


_count = partial(click.option, type=click.IntRange(min=1), show_default=True, metavar="N")


@click.command(epilog=_COMPARE_EPILOG)
@click.argument(
    "models", metavar="MODEL...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--images",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Judge the answers too, on images whose labels are known.",
)
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Their labels.  [default: labels.csv in FOLDER, or the names of its folders]",
)
@click.option(
    "--subset",
    default=ALL,
    show_default=True,
    metavar="NAME",
    help="Of a FOLDER that was prepared and split, such as test.",
)
@_count("--rounds", default=Pace.rounds, help="How often each has its turn.")
@_count("--starts", default=Pace.starts, help="Number of starts of each model.")
@_count("--threads", default=Pace.threads, help="Runtime threads per answer.")
@click.option("--json", "as_json", is_flag=True, help="Print all that was found as JSON.")
def compare_command(  # noqa: PLR0913 (one argument per option)
    models: tuple[Path, ...],
    images: Path | None,
    labels: Path | None,
    subset: str,
    rounds: int,
    starts: int,
    threads: int,
    as_json: bool,
) -> None:
    """Compare the variants MODEL of a model: size, start, memory, latency, images per second.

    Each MODEL is a package, or a model that is packaged automatically, and is measured in its
    own process; they take turns, so that what else the machine does hits all alike. With
    --images, what they answer is judged: accuracy, sensitivity, specificity, AUC and kappa with
    their intervals, and how often each says the same as the first one.

    FOLDER holds images, with a table of labels (columns image and label, or as the model's task
    reads them) or in folders named as the labels are; or it is one that the task's own tools
    prepared. Calibration images cannot judge a model: give others.
    """
    from prumo.machine.cpu import read_cpu
    from prumo_serve.compare.comparison import compare
    from prumo_serve.compare.quality import ImageRequest
    from prumo_serve.compare.report import comparison_document, print_comparison

    if images is None and (labels is not None or subset != ALL):
        raise click.UsageError("--labels and --subset say which answers are right: give --images.")
    request = None if images is None else ImageRequest(images, labels, subset)
    pace = Pace(rounds, starts, threads, callers=max(1, read_cpu().usable_cores // threads))
    with shown_progress() as progress:
        comparison = compare(models, pace, request, progress)
    if as_json:
        print_json(comparison_document(comparison))
        return
    print_comparison(comparison, table_console())
