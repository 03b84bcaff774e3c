"""`prumo new`: write a commented starter study."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(
    "new",
    epilog="""\b
Examples:
  prumo new study.yaml && prumo plan study.yaml
  prumo new load.yaml --kind requests && prumo run load.yaml""",
)
@click.argument("path", type=click.Path(path_type=Path), default=Path("study.yaml"))
@click.option(
    "--kind",
    metavar="KIND",
    default="training",
    show_default=True,
    help="What a run does: training of Prumo's networks, command for your own program, "
    "requests to an endpoint, or another workload that has a starter.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def command(path: Path, kind: str, force: bool) -> None:
    """Write a commented starter study to PATH (study.yaml by default)."""
    from prumo.study.starter import write_starter

    write_starter(path, kind, replace=force)
    click.echo(f"wrote {path}; next: prumo plan {path}")
