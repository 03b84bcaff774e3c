"""`prumo report`: tables, statistics and one HTML page from a results folder."""

from __future__ import annotations

from dataclasses import replace
from os.path import commonpath
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, table_console
from prumo.cli.numbers import WholeRange
from prumo.cli.options import MOST_REQUESTS_PER_DAY, confidence_option, language_option
from prumo.errors import InputError
from prumo.report.formats import FORMATS, write_formats

if TYPE_CHECKING:
    from prumo.report.language import Language
    from prumo.report.render import LocalizedReport

STANDARD_OUTPUT = "-"


@click.command(epilog="Example:  prumo report results/demo --lang pt-BR --format latex --out paper")
@click.argument("folder", type=click.Path(path_type=Path), metavar="RESULTS")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="File for the page; with --format, folder for all files.  "
    "[default: RESULTS/report.html, RESULTS/report]",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(list(FORMATS)),
    help="Format to write into a folder; repeatable.  [default: only the page, as a file]",
)
@click.option("--csv", "csv_path", metavar="FILE", help="Write the summary as CSV; - prints it.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Metric to show, the main one first; repeatable.",
)
@click.option(
    "--requests-per-day",
    type=WholeRange(1, MOST_REQUESTS_PER_DAY),
    metavar="N",
    help="Studies of requests: the traffic to say costs for.",
)
@confidence_option
@language_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    folder: Path,
    out: Path | None,
    formats: tuple[str, ...],
    csv_path: str | None,
    metrics: tuple[str, ...],
    requests_per_day: int | None,
    confidence: float,
    language: Language,
    *,
    as_json: bool,
) -> None:
    """Create tables, statistics and one HTML page from the results folder RESULTS.

    Works while the study is still running. The page contains its figures and styles and opens
    offline.
    """
    from prumo.report.content import assemble
    from prumo.report.file import write_file
    from prumo.report.render import LocalizedReport
    from prumo.results.tables import Results

    if as_json and csv_path == STANDARD_OUTPUT:
        raise click.UsageError("--json and --csv - both want standard output; give --csv a file.")
    results = Results(folder)
    if requests_per_day is not None and (
        results.study is None or not results.study.workload.advice
    ):
        raise InputError(f"{results.study_name} sends no requests: leave --requests-per-day out")
    tables = replace(assemble(results, metrics, confidence), requests_per_day=requests_per_day)
    report = LocalizedReport(results, tables, language)
    written = _write(report, formats, out)
    if csv_path == STANDARD_OUTPUT:
        click.echo(tables.summary.write_csv(), nl=False)
    elif csv_path is not None:
        write_file(Path(csv_path), tables.summary.write_csv())
    if as_json:
        page = next((str(path) for path in written if path.suffix == ".html"), None)
        print_json({**report.document(), "page": page, "files": list(map(str, written))})
    elif csv_path != STANDARD_OUTPUT:
        report.print(table_console())
        click.echo()
    if not as_json:
        click.echo(f"Report: {_place(written)}", err=csv_path == STANDARD_OUTPUT)


def _place(written: list[Path]) -> str:
    if not written:
        return "no file, since there is nothing to draw"
    if len(written) == 1:
        return str(written[0])
    return f"{len(written)} files in {commonpath(path.parent for path in written)}"


def _write(report: LocalizedReport, formats: tuple[str, ...], out: Path | None) -> list[Path]:
    """The formats that were asked for in a folder, or else one page; the paths of all."""
    from prumo.report.file import write_file

    folder = report.results.path
    if not formats:
        if out is not None and out.is_dir():
            raise click.UsageError(f"--out {out} is a folder; give the page a file name.")
        return [write_file(out or folder / "report.html", report.page())]
    if out is not None and out.is_file():
        raise click.UsageError(f"--out {out} is a file; --format needs a folder.")
    return write_formats(report, formats, out or folder / "report")
