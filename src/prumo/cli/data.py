"""`prumo data`: fetch, check, list and remove data sets."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import date_of, print_columns, print_json, shown_progress
from prumo.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.datasets.preparation import Prepared
    from prumo.datasets.study_data import Examination

_SHOWN_LINES = 20

EPILOG = """\b
Examples:
  prumo data fetch mnist --to ~/data/mnist
  prumo data check ~/data/mnist --dataset mnist
  prumo data list
  prumo data remove mnist
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Fetch, check, list and remove data sets.

    A study names folders of data under workload.data. Before the first run, the images are
    decoded, resized and cached once for all frameworks (PRUMO_CACHE sets the cache folder).
    """


@command.command(epilog="Example:  prumo data fetch cifar10 --to ~/data/cifar10")
@click.argument("name")
@click.option(
    "--to",
    "folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Folder for the files.  [default: data/NAME]",
)
@click.option(
    "--from",
    "places",
    metavar="URL",
    multiple=True,
    envvar="PRUMO_DATA_FROM",
    help="Download from this address instead of the known ones; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def fetch(name: str, folder: Path | None, places: tuple[str, ...], as_json: bool) -> None:
    """Download NAME (mnist, fashion_mnist, cifar10) from its home page or a mirror.

    Every file is checked against its published checksum. An interrupted download continues
    where it stopped when the command is called again.
    """
    from prumo.datasets.download import fetch as fetch_files

    folder = folder or Path("data") / name
    with shown_progress() as progress:
        files = fetch_files(name, folder, places, progress)
    if as_json:
        content = {"dataset": name, "folder": str(folder), "files": [str(file) for file in files]}
        print_json(content)
        return
    place = json.dumps(str(folder.absolute()), ensure_ascii=False)
    click.echo(f"in a study:  workload: {{kind: training, data: {{{name}: {place}}}}}")


@command.command(epilog="Example:  prumo data check ~/data/mnist --dataset mnist")
@click.argument("path", metavar="FOLDER|FILE", type=click.Path(path_type=Path))
@click.option("--dataset", default="", metavar="NAME", help="The data set that it will be used as.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(path: Path, dataset: str, as_json: bool) -> None:
    """Show what FOLDER or FILE contains, decode every image, and list the problems.

    Exit codes: 0 no problems, 1 problems were found, 2 there is nothing to read.
    """
    from prumo.datasets.study_data import examine

    found = examine(path, dataset)
    if as_json:
        print_json(asdict(found))
    else:
        for line in _examination_lines(found):
            click.echo(line)
    if found.problems:
        sys.exit(ExitCode.FINDINGS)


@command.command("list", epilog="Example:  prumo data list --json")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def listing(as_json: bool) -> None:
    """List the known data sets and those prepared in the cache."""
    from prumo.datasets.download import known_sets
    from prumo.datasets.preparation import prepared_sets

    known, prepared = known_sets(), prepared_sets()
    if as_json:
        content = {
            "known": {found.name: asdict(found) for found in known},
            "prepared": [found.as_json() for found in prepared],
        }
        print_json(content)
        return
    rows = [
        [
            found.name,
            str(found.images),
            f"{found.channels} x {found.image_size} x {found.image_size}",
            str(found.classes),
        ]
        for found in known
    ]
    print_columns(["known", "images", "shape", "classes"], rows)
    click.echo("--json has their home pages and whole paths.\n")
    if prepared:
        heads = ["prepared", "data set", "images", "shape", "size", "created", "from"]
        print_columns(heads, map(_prepared_row, prepared))
    else:
        click.echo("nothing is prepared yet; `prumo run` does it when a study names a folder")


@command.command(epilog="Example:  prumo data remove mnist")
@click.argument("names", metavar="[KEY|NAME|all]...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def remove(names: tuple[str, ...], as_json: bool) -> None:
    """Remove prepared data from the cache: by key, all sizes of a data set, or everything.

    Files that you provided or fetched are never touched.
    """
    from prumo.datasets.preparation import prepared_sets
    from prumo.datasets.preparation import remove as remove_prepared

    if names == ("all",):
        names = tuple({found.dataset for found in prepared_sets()})
    removed = [found for name in names for found in remove_prepared(name)]
    if as_json:
        print_json({"removed": [found.as_json() for found in removed]})
        return
    for found in removed:
        click.echo(f"removed {found.key} ({found.dataset}, {found.size_bytes / 1e6:.0f} MB)")


def _examination_lines(found: Examination) -> list[str]:
    without = found.class_count - len(found.classes)
    classes = f"{found.class_count} classes" + (f" ({without} without images)" if without else "")
    lines = [f"{found.path}: {found.kind}, {found.images} images, {classes}"]
    lines += _shape_lines(found.shapes)
    counts = list(found.classes.items())
    lines += [f"  class {name}: {count} images" for name, count in counts[:_SHOWN_LINES]]
    if rest := counts[_SHOWN_LINES:]:
        lines.append(f"  class … {len(rest)} more: {sum(count for _, count in rest)} images")
    lines += [f"problem: {problem}" for problem in found.problems[:_SHOWN_LINES]]
    if len(found.problems) > _SHOWN_LINES:
        lines.append(f"and {len(found.problems) - _SHOWN_LINES} problems more; --json has all")
    return lines


def _shape_lines(shapes: dict[str, int]) -> list[str]:
    """One line for each number of channels, with the range of heights and widths."""
    lines = []
    sizes = {tuple(map(int, shape.split(" x "))): count for shape, count in shapes.items()}
    for channels in sorted({size[0] for size in sizes}):
        same = {size: count for size, count in sizes.items() if size[0] == channels}
        _, heights, widths = zip(*same, strict=True)
        in_sizes = f" in {len(same)} sizes" if len(same) > 1 else ""
        lines.append(
            f"  shape {channels} x {_span(heights)} x {_span(widths)}: "
            f"{sum(same.values())} images{in_sizes}"
        )
    return lines


def _span(lengths: Sequence[int]) -> str:
    least, most = min(lengths), max(lengths)
    return str(least) if least == most else f"{least}..{most}"


def _prepared_row(found: Prepared) -> list[str]:
    subset = "" if found.only_class is None else f" of class {found.only_class}"
    return [
        found.key,
        found.dataset,
        f"{found.images}{subset}",
        " x ".join(map(str, found.shape)),
        f"{found.size_bytes / 1e6:.0f} MB",
        date_of(found.created),
        Path(found.source).name,
    ]
