"""`prumo import csv`: make a study of the tables that somebody else published."""

from __future__ import annotations

import json
from pathlib import Path

import click

from prumo.execute.table_import import import_tables
from prumo.execute.table_mapping import load_mapping


@click.command(
    "csv",
    epilog=(
        "Example:  prumo import csv studies/ufrgs-serverless/mapping.yaml downloads/serverless "
        "--into results/serverless"
    ),
)
@click.argument("mapping_file", metavar="MAPPING", type=click.Path(path_type=Path))
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--into",
    "results",
    metavar="RESULTS",
    type=click.Path(path_type=Path, file_okay=False),
    help="The results folder, which is made.  [default: results/NAME]",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was imported as JSON.")
def command(mapping_file: Path, folder: Path | None, results: Path | None, as_json: bool) -> None:
    """Make a study of the tables in FOLDER, as the YAML file MAPPING says.

    The mapping names the files, what their names and columns mean, and the prices of machines.
    Every row becomes a run that was measured elsewhere, or a summary of several; nothing is made
    up. All files are checked before anything is written. FOLDER is that of the mapping when none
    is given.
    """
    mapping = load_mapping(mapping_file)
    into = results or Path("results") / mapping.section.name
    imported = import_tables(mapping, folder or mapping_file.parent, into)
    scenarios = len({record.scenario for record in imported.records})
    if as_json:
        told = {
            "study": imported.study.name,
            "results": str(into),
            "scenarios": scenarios,
            "runs": len(imported.records),
            "left_out": imported.left_out,
            "remarks": imported.remarks,
        }
        click.echo(json.dumps(told, indent=1))
        return
    click.echo(f"{imported.study.name}: {len(imported.records)} runs in {scenarios} scenarios")
    for place in imported.left_out:
        click.echo(f"left out, as it has no figure: {place}")
    for remark in imported.remarks:
        click.echo(remark)
    click.echo(f"report with:  prumo report {into}")
