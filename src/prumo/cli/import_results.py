"""`prumo import`: bring what others measured into a results folder."""

from __future__ import annotations

from pathlib import Path

import click

from prumo.cli.console import levels_text, print_json
from prumo.foreign.logs import KINDS


@click.group(
    "import",
    epilog="Example:  prumo import caffe-log logs/train_*.log --into results/caffe",
    short_help="Import logs and tables of other measurements.",
)
def command() -> None:
    """Import logs and tables of other measurements into a results folder.

    Each log becomes a run with its steps, losses and times; each row of a table becomes a run
    with its figures. `prumo report` then works on them. Nothing is invented: what the files do
    not say about the machine stays unknown.
    """


def _importer(kind_name: str) -> click.Command:
    kind = KINDS[kind_name]

    @click.command(
        kind_name,
        help=f"""Import logs of {kind.title} trainings.

        A log's name says what was trained: train_NETWORK_MODE_BATCH.log, where MODE is CPU or
        GPU, as in train_alexnet_GPU_064.log.
        """,
        epilog=f"Example:  prumo import {kind_name} logs/train_*.log --into results/old",
    )
    @click.argument(
        "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
    )
    @click.option(
        "--into",
        "results",
        required=True,
        metavar="RESULTS",
        type=click.Path(path_type=Path, file_okay=False),
        help="The results folder; created if missing.",
    )
    @click.option(
        "--images",
        type=click.IntRange(min=1),
        help="Images per epoch; without it, all steps count as one epoch.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print the runs as JSON.")
    def importer(files: tuple[Path, ...], results: Path, images: int | None, as_json: bool) -> None:
        from prumo.foreign.log_import import import_logs

        records = import_logs(kind, files, results, images)
        if as_json:
            print_json([record.model_dump(mode="json") for record in records])
            return
        for record in records:
            levels = levels_text(record.factors)
            found = f"  {', '.join(record.anomalies)}" if record.anomalies else ""
            click.echo(f"{record.run}  {record.verdict.value}  {levels}{found}")
        click.echo(f"report with:  prumo report {results}")

    return importer


@command.command(
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
    help="The results folder, which must not exist yet.  [default: results/NAME]",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was imported as JSON.")
def import_csv(
    mapping_file: Path, folder: Path | None, results: Path | None, as_json: bool
) -> None:
    """Create a study from the tables in FOLDER, as described by the YAML file MAPPING.

    The mapping names the files, what their names and columns mean, and the prices of the
    machines. Every row becomes a run that was measured elsewhere, or a summary of several
    runs. All files are checked before anything is written. FOLDER defaults to the folder of
    the mapping.
    """
    from prumo.foreign.table_import import import_tables
    from prumo.foreign.table_mapping import load_mapping

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
        print_json(told)
        return
    click.echo(f"{imported.study.name}: {len(imported.records)} runs in {scenarios} scenarios")
    for place in imported.left_out:
        click.echo(f"left out, as it has no figure: {place}")
    for remark in imported.remarks:
        click.echo(remark)
    click.echo(f"report with:  prumo report {into}")


for _name in KINDS:
    command.add_command(_importer(_name))
