"""`prumo new`: write a commented starter study."""

from __future__ import annotations

from pathlib import Path

import click

from prumo.study.document import STARTER_KINDS, StarterKind, write_starter


@click.command("new", epilog="Example:  prumo new study.yaml && prumo plan study.yaml")
@click.argument("path", type=click.Path(path_type=Path), default=Path("study.yaml"))
@click.option(
    "--kind",
    type=click.Choice(STARTER_KINDS),
    default="training",
    show_default=True,
    help="Train Prumo's networks, or run your own program.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def command(path: Path, kind: StarterKind, force: bool) -> None:
    """Write a commented starter study to PATH (study.yaml by default)."""
    write_starter(path, kind, replace=force)
    click.echo(f"wrote {path}; next: prumo plan {path}")
