"""`prumo model compare`: variants of a model side by side."""

from __future__ import annotations

import json
from pathlib import Path

import click

from prumo.cli.console import shown_progress, table_console
from prumo.machine.cpu import read_cpu
from prumo_serve.compare.comparison import compare
from prumo_serve.compare.quality import ALL, ImageRequest
from prumo_serve.compare.report import comparison_document, print_comparison
from prumo_serve.compare.timing import ROUNDS, STARTS, Pace

EPILOG = """\b
Examples:
  prumo model compare model.tar.gz int8.tar.gz
  prumo model compare model.tar.gz fp16.tar.gz int8.tar.gz --images photographs --labels labels.csv
  prumo model compare model.tar.gz int8.tar.gz --images prepared --subset test --json
"""


@click.command(epilog=EPILOG)
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
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=ROUNDS,
    show_default=True,
    metavar="N",
    help="How often each has its turn.",
)
@click.option(
    "--starts",
    type=click.IntRange(min=1),
    default=STARTS,
    show_default=True,
    metavar="N",
    help="How often each is started anew.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="With which a runtime computes one answer.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all that was found as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
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

    Each MODEL is a package, or a model that becomes one by itself, and is measured in a process of
    its own; they take turns, so that what else the machine does hits all alike. With --images, what
    they answer is judged: accuracy, sensitivity, specificity, AUC and kappa with their intervals,
    and how often each says the same as the first one.

    FOLDER holds images, with a table of labels (columns image and label, or as the model's task
    reads them) or in folders named as the labels are; or it is one that the task's own tools
    prepared. Calibration images cannot judge a model: give others.
    """
    if images is None and (labels is not None or subset != ALL):
        raise click.UsageError("--labels and --subset say which answers are right: give --images.")
    wish = None if images is None else ImageRequest(images, labels, subset)
    pace = Pace(rounds, starts, threads, callers=max(1, read_cpu().usable_cores // threads))
    with shown_progress() as progress:
        comparison = compare(models, pace, wish, progress)
    if as_json:
        click.echo(json.dumps(comparison_document(comparison), indent=1))
        return
    print_comparison(comparison, table_console())
