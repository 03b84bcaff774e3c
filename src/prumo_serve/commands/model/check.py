"""`prumo model check`: whether a packaged model is whole, safe, and answers."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table
from rich.text import Text

from prumo.cli.console import table_console
from prumo.exit_codes import ExitCode
from prumo_serve.package import open_package
from prumo_serve.package.check import examined

if TYPE_CHECKING:
    from prumo_serve.package.check import Finding

EPILOG = """\b
Example:
  prumo model check model.tar.gz
"""


@click.command(epilog=EPILOG)
@click.argument("package", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print what was checked as JSON.")
def command(package: Path, as_json: bool) -> None:
    """Check that the packaged model PACKAGE is whole, safe, and answers.

    Hashes and manifest are compared, the network is loaded by its runtime and asked with noise,
    alone and beside another image; its heat maps too. It ends with 1 where the network does not do
    what the manifest says, and with 2 where the package cannot be opened at all.
    """
    with open_package(package) as opened:
        findings = examined(opened)
    passed = all(finding.passed for finding in findings)
    if as_json:
        told = {"passed": passed, "findings": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(told, indent=1))
    else:
        table_console().print(_table(findings))
    if not passed:
        sys.exit(ExitCode.FINDINGS)


def _table(findings: tuple[Finding, ...]) -> Table:
    table = Table(box=None, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        mark = Text("ok", "green") if finding.passed else Text("WRONG", "bold red")
        table.add_row(mark, Text(finding.subject), Text(finding.told))
    return table
