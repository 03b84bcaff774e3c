"""`prumo model show`: what a packaged model is."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from prumo.cli.console import table_console
from prumo_serve.package import open_package
from prumo_serve.package.check import package_document, shown_rows

EPILOG = """\b
Examples:
  prumo model show model.tar.gz
  prumo model show model.tar.gz --card
"""


@click.command(epilog=EPILOG)
@click.argument("package", type=click.Path(path_type=Path))
@click.option("--card", "with_card", is_flag=True, help="Print the model card instead.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def command(package: Path, with_card: bool, as_json: bool) -> None:
    """Show what the packaged model PACKAGE is: what it answers, takes and was made of.

    PACKAGE is an archive or a folder that `prumo model package` wrote. Every file's hash is
    compared with the manifest; the network is not loaded.
    """
    with open_package(package) as opened:
        if as_json:
            click.echo(json.dumps(package_document(opened), indent=1))
        elif with_card:
            click.echo(opened.card, nl=False)
        else:
            table = Table(box=None, show_header=False)
            table.add_column(no_wrap=True)
            table.add_column(overflow="fold")
            for name, told in shown_rows(opened):
                table.add_row(Text(name), Text(told))
            table_console().print(table)
