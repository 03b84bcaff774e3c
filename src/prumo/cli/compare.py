"""`prumo compare`: the levels of one factor against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, table_console
from prumo.cli.options import confidence_option, language_option

if TYPE_CHECKING:
    from prumo.report.language import Language

STANDARD_OUTPUT = "-"


@click.command(epilog="Example:  prumo compare results/demo --factor framework --against pytorch")
@click.argument("folder", type=click.Path(path_type=Path), metavar="RESULTS")
@click.option(
    "--factor", required=True, metavar="NAME", help="The factor whose levels are compared."
)
@click.option(
    "--metric", metavar="NAME", help="Metric to compare, such as cost_usd.  [default: the main one]"
)
@click.option("--against", metavar="LEVEL", help="Compare each level only with this one.")
@confidence_option
@click.option(
    "--bootstrap",
    is_flag=True,
    help="Use bootstrap intervals, which assume no distribution; needs seven runs of each.",
)
@language_option
@click.option("--csv", "csv_path", metavar="FILE", help="Write the table as CSV; - prints it.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    folder: Path,
    factor: str,
    metric: str | None,
    against: str | None,
    confidence: float,
    language: Language,
    csv_path: str | None,
    *,
    bootstrap: bool,
    as_json: bool,
) -> None:
    """Compare the levels of one factor in the results folder RESULTS, like with like.

    Runs are compared only where all other factors have the same levels. The verdict is faster,
    slower, no clear difference or too few runs; for money, cheaper or more expensive. No verdict
    says "equal": runs cannot show that.
    """
    from prumo.report.comparison import answer_document, answer_table, compare_results, print_answer
    from prumo.report.file import write_file
    from prumo.results.tables import Results

    if as_json and csv_path == STANDARD_OUTPUT:
        raise click.UsageError("--json and --csv - both want standard output; give --csv a file.")
    answer = compare_results(
        Results(folder), factor, metric, confidence, against=against, bootstrap=bootstrap
    )
    if csv_path == STANDARD_OUTPUT:
        click.echo(answer_table(answer).write_csv(), nl=False)
    elif csv_path is not None:
        write_file(Path(csv_path), answer_table(answer).write_csv())
    if as_json:
        print_json(answer_document(answer, language))
    elif csv_path != STANDARD_OUTPUT:
        print_answer(answer, table_console(), language)
