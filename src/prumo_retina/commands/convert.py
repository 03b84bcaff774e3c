"""`prumo retina convert`: split prepared photographs and write them as TFRecord shards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from prumo.cli.console import print_json, shown_progress
from prumo_retina.grade import Grade

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prumo_retina.records import Conversion

_SHOWN_LINES = 20

EPILOG = """\b
Examples:
  prumo retina convert prepared
  prumo retina convert prepared --test 0.2 --seed 7
  prumo retina convert prepared --folds 5
"""


@click.command(epilog=EPILOG)
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--test",
    default=0.3,
    show_default=True,
    help="Share of the photographs that a model is judged on and never sees before.",
)
@click.option(
    "--validation",
    default=0.2,
    show_default=True,
    help="Share of the others that watches the training and chooses thresholds.",
)
@click.option(
    "--folds",
    default=0,
    metavar="K",
    help="Make K folds for cross-validation over all photographs, instead of the three subsets; "
    "not with --test or --validation.",
)
@click.option("--seed", default=1, show_default=True, help="Another seed gives another split.")
@click.option(
    "--shards",
    type=click.IntRange(min=1),
    metavar="N",
    help="Files of each subset.  [default: by size, about 128 MB each]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(  # noqa: PLR0913 (click hands every option over by itself)
    data: Path,
    test: float,
    validation: float,
    folds: int,
    seed: int,
    shards: int | None,
    as_json: bool,
) -> None:
    """Split the prepared photographs of DATA and write them as TFRecord shards.

    DATA is a folder that `prumo retina prepare` made. The same shares of every grade go into each
    subset; photographs of one patient, and duplicates, stay on one side. Only gradable photographs
    with a grade go into the records; `split.csv` has those that cannot be judged too, as they count
    as referrals in an evaluation. Calling it again puts the new records in place of the old ones.
    """
    from prumo_retina.records import convert
    from prumo_retina.records.split import Shares

    context = click.get_current_context()
    for name in ("test", "validation"):
        if folds and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(
                f"--folds and --{name} exclude each other: in cross-validation every fold is "
                "judged once by a model that has not seen it"
            )
    shares = Shares(test, validation, folds)
    with shown_progress() as progress:
        conversion = convert(data, shares, seed=seed, shards=shards, progress=progress)
    if as_json:
        print_json(conversion.as_json())
        return
    for line in _lines(conversion):
        click.echo(line)
    for warning in conversion.split.warnings:
        click.echo(f"warning: {warning}", err=True)


def _lines(conversion: Conversion) -> list[str]:
    left_out = conversion.selection.left_out
    lines = _grade_lines(conversion.grades)
    if left_out:
        reasons = (f"{count} {reason}" for reason, count in conversion.selection.reasons.items())
        lines.append(f"left out: {', '.join(reasons)}")
        lines += [f"  {left}" for left in left_out[:_SHOWN_LINES]]
    if len(left_out) > _SHOWN_LINES:
        lines.append(f"  and {len(left_out) - _SHOWN_LINES} more; --json has all")
    patients = (
        "by patient" if conversion.card.by_patient else "by photograph: no patients are known"
    )
    files = sum(len(subset.shards) for subset in conversion.card.subsets.values())
    lines.append(f"split {patients}; {files} files written and read back")
    return lines


def _grade_lines(columns: Mapping[str, tuple[int, ...]]) -> list[str]:
    """A row for each grade, each count with its share of the column."""
    names = [f"{grade:d} {grade.title}" for grade in Grade]
    cells = [["grade", *names, "all"]]
    for head, counts in columns.items():
        total = sum(counts)
        shares = [f"{count / total:4.0%}" if total else "    " for count in counts]
        found = [f"{count} {share}" for count, share in zip(counts, shares, strict=True)]
        cells.append([head, *found, f"{total}     "])
    widths = [max(map(len, column)) for column in cells]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in zip(*cells, strict=True)
    ]
