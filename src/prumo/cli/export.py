"""`prumo export`: hand the runs of a results folder to other tools."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from prumo.cli.console import print_json, shown_progress


@click.group(
    "export",
    epilog="Example:  prumo export mlflow results/demo --tracking-uri http://localhost:5000",
)
def command() -> None:
    """Export the runs of a results folder to other tools."""


@command.command(
    epilog="Example:  prumo export mlflow results/demo --tracking-uri http://localhost:5000"
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RESULTS")
@click.option(
    "--tracking-uri",
    envvar="MLFLOW_TRACKING_URI",
    default="mlruns",
    show_default=True,
    metavar="URI",
    help="Address of an MLflow server, or a folder.  [env: MLFLOW_TRACKING_URI]",
)
@click.option(
    "--experiment",
    metavar="NAME",
    help="Name of the MLflow experiment.  [default: the study's name]",
)
@click.option("--json", "as_json", is_flag=True, help="Print which runs were added and kept.")
def mlflow(folder: Path, tracking_uri: str, experiment: str | None, *, as_json: bool) -> None:
    """Create an MLflow run for every run in the results folder RESULTS.

    Parameters, metrics, the loss by step and epoch, the verdict and the versions are included.
    A run that MLflow already has is left alone, or replaced if its figures have changed.
    """
    from prumo.report.mlflow import export_to_mlflow
    from prumo.results.tables import Results

    results = Results(folder)
    with shown_progress() as progress:
        exported = export_to_mlflow(
            results, tracking_uri, experiment or results.study_name, progress
        )
    if as_json:
        print_json(asdict(exported))
        return
    click.echo(
        f"{len(exported.added)} runs added, {len(exported.replaced)} replaced, "
        f"{len(exported.kept)} there already: experiment '{exported.experiment}' "
        f"at {exported.tracking_uri}"
    )
