"""`prumo retina prepare`: make photographs of fundi alike, and judge their quality."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from prumo.cli.console import print_json, shown_progress
from prumo_retina.commands import counted_examples
from prumo_retina.fundus.choices import (
    DEFAULT_ENHANCEMENT,
    DEFAULT_METHOD,
    DEFAULT_SIZE,
    Enhancement,
    Method,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo_retina.dataset.prepare import Outcome

EPILOG = """\b
Examples:
  prumo retina prepare photographs prepared
  prumo retina prepare photographs prepared --labels labels.csv \\
    --grade-column level
  prumo retina prepare photographs prepared --size 512 --anonymous-names \\
    --json
"""


@click.command(epilog=EPILOG)
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("folder", metavar="OUT", type=click.Path(path_type=Path))
@click.option(
    "--size",
    type=click.IntRange(16, 4096),
    default=DEFAULT_SIZE,
    show_default=True,
    metavar="PIXELS",
    help="Diameter of the fundus, which is the side of the square images.",
)
@click.option(
    "--enhance",
    type=click.Choice(get_args(Enhancement)),
    default=DEFAULT_ENHANCEMENT,
    show_default=True,
    help="How contrast is raised.",
)
@click.option(
    "--method",
    type=click.Choice(get_args(Method)),
    default=DEFAULT_METHOD,
    show_default=True,
    help="How the fundus is found.",
)
@click.option(
    "--labels",
    metavar="FILE.csv",
    type=click.Path(path_type=Path),
    help="A table with a line for each photograph.  [default: the one in IN that fits]",
)
@click.option("--image-column", default="", metavar="NAME", help="File names or paths in IN.")
@click.option("--grade-column", default="", metavar="NAME", help="Grades from 0 to 4.")
@click.option("--patient-column", default="", metavar="NAME", help="Who it is.")
@click.option("--eye-column", default="", metavar="NAME", help="Left or right.")
@click.option("--camera-column", default="", metavar="NAME", help="With which camera.")
@click.option("--site-column", default="", metavar="NAME", help="In which hospital.")
@click.option(
    "--anonymous-names",
    is_flag=True,
    help="Name the images fundus-00001 and so on, by lot; only OUT/names.csv says which is which.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Photographs at a time.  [default: as many as there are cores]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(  # noqa: PLR0913 (one for each option)
    source: Path,
    folder: Path,
    size: int,
    enhance: Enhancement,
    method: Method,
    labels: Path | None,
    anonymous_names: bool,
    jobs: int | None,
    as_json: bool,
    **columns: str,
) -> None:
    """Find the fundus in all photographs of IN, crop and scale it, and judge its quality.

    IN may hold folders in any layout, with JPEG, PNG, TIFF and DICOM files. OUT gets the images
    and manifest.csv with a row for every input: its circle, verdict and reason, grade, patient (as
    a pseudonym) and duplicates. The images hold no metadata. OUT/names.csv and OUT/patients.csv are
    the keys to names and pseudonyms: keep them to yourself.

    Grades come from a table, whose columns are found by their usual names, or from folders named 0
    to 4. What was prepared before is not prepared again, so a stopped run can be called again.

    Exit codes: 0 done, also when the manifest tells of photographs or labels that cannot be used; 2
    nothing could be prepared.
    """
    from prumo_retina.dataset.labels import Columns
    from prumo_retina.dataset.prepare import Request, prepare
    from prumo_retina.fundus.preparation import Preparation

    request = Request(
        source=source,
        folder=folder,
        preparation=Preparation(size=size, enhance=enhance, method=method),
        labels=labels,
        columns=Columns(**{name.removesuffix("_column"): given for name, given in columns.items()}),
        anonymous_names=anonymous_names,
        jobs=jobs,
    )
    with shown_progress() as progress:
        outcome = prepare(request, progress)
    if as_json:
        print_json(outcome.as_json())
        return
    for line in _lines(outcome):
        click.echo(line)


def _lines(outcome: Outcome) -> Iterator[str]:
    inventory = outcome.inventory
    total = len(inventory.photographs)
    there = f", {outcome.already_there} of them before" if outcome.already_there else ""
    yield f"{total} photographs{there}, in {outcome.seconds:.1f} s"
    for verdict, count in inventory.verdicts.items():
        yield f"  {verdict.value.replace('_', ' '):12} {count:6}  {100 * count / total:5.1f} %"
    if outcome.labelling.source:
        yield f"grades from {outcome.labelling.source}"
        for grade, count in inventory.grades.items():
            title = "no grade" if grade is None else f"{grade:d} {grade.title}"
            yield f"  {title:40} {count:6}"
    else:
        yield "no labels"
    if inventory.patients:
        yield f"{inventory.patients} patients"
    problems = dict(inventory.problems)
    problems["duplicates"] = tuple(
        f"{found.image} is {found.of} again ({found.kind}, correlation {found.correlation:.2f})"
        for found in outcome.duplicates
    )
    problems["images whose photographs are gone, in no row"] = outcome.left_over
    problems["files not looked at"] = outcome.found.others
    problems["folders not looked at"] = outcome.found.left_out
    for kind, cases in problems.items():
        yield from counted_examples(kind, cases)
    yield f"manifest: {outcome.manifest}"
