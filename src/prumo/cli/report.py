"""`prumo report`: tables, statistics and one HTML page from a results folder."""

from __future__ import annotations

import json
from pathlib import Path

import click

from prumo.cli.console import table_console
from prumo.report.content import assemble
from prumo.report.document import document
from prumo.report.file import write_file
from prumo.report.page import write_page
from prumo.report.terminal import print_report
from prumo.results.tables import Results

STANDARD_OUTPUT = "-"


@click.command(
    epilog="Example:  prumo report results/demo --metric train_seconds --csv summary.csv"
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RESULTS")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.html",
    help="Where the page goes.  [default: RESULTS/report.html]",
)
@click.option("--csv", "csv_path", metavar="FILE", help="Write the summary as CSV; - prints it.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="A metric to show, the main one first; may be repeated.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence of the intervals.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    folder: Path,
    out: Path | None,
    csv_path: str | None,
    metrics: tuple[str, ...],
    confidence: float,
    *,
    as_json: bool,
) -> None:
    """Tables, statistics and one HTML page from the results folder RESULTS.

    Works while the study is still running. The page holds its figures and styles and opens without
    a network.
    """
    if as_json and csv_path == STANDARD_OUTPUT:
        raise click.UsageError("--json and --csv - both want standard output; give --csv a file.")
    results = Results(folder)
    report = assemble(results, metrics, confidence)
    page_path = out or folder / "report.html"
    write_page(results, report, page_path)
    if csv_path == STANDARD_OUTPUT:
        click.echo(report.summary.write_csv(), nl=False)
    elif csv_path is not None:
        write_file(Path(csv_path), report.summary.write_csv())
    if as_json:
        click.echo(json.dumps({**document(report), "page": str(page_path)}, indent=1))
    elif csv_path != STANDARD_OUTPUT:
        print_report(report, table_console())
        click.echo()
    if not as_json:
        click.echo(f"Report: {page_path}", err=csv_path == STANDARD_OUTPUT)
