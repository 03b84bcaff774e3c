"""`prumo merge`: runs from several machines in one results folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from prumo.cli.console import print_json


@click.command(epilog="Example:  prumo merge from-the-gpu-machine/ufrpe-2024 results/ufrpe-2024")
@click.argument("source", metavar="FROM", type=click.Path(path_type=Path))
@click.argument("target", metavar="INTO", type=click.Path(path_type=Path))
@click.option(
    "--json", "as_json", is_flag=True, help="Print which runs were copied and kept, as JSON."
)
def command(source: Path, target: Path, as_json: bool) -> None:
    """Copy the runs of the results folder FROM into the results folder INTO.

    A run is copied if INTO lacks it, or has it only as unavailable, interrupted or failed
    while FROM has it finished. Finished runs in INTO are never replaced, and FROM stays
    unchanged.
    """
    from prumo.results.folder import ResultsFolder
    from prumo.results.merge import merge

    into = ResultsFolder.existing(target)
    with into.locked():
        merged = merge(ResultsFolder.existing(source), into)
    if as_json:
        print_json(asdict(merged))
        return
    click.echo(f"{len(merged.taken)} runs taken, {len(merged.kept)} kept as they were")
    for name in merged.set_aside:
        click.echo(f"set aside: what {target} had of {name} is kept under attempts")
    for name in merged.unreadable:
        click.echo(f"not taken: {name} has no readable record")
