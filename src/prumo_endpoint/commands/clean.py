"""`prumo endpoint clean`: remove what a study left in a cloud account."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from prumo.cli.console import shown_progress
from prumo.errors import InputError
from prumo.exit_codes import ExitCode
from prumo_endpoint.ledger import Ledger
from prumo_endpoint.sagemaker import LEDGER_FILE
from prumo_endpoint.sagemaker.keeper import Keeper


@click.command(epilog="Example:  prumo endpoint clean results/ufrgs-instances")
@click.argument("results", type=click.Path(path_type=Path))
def command(results: Path) -> None:
    """Remove what runs of RESULTS created on SageMaker and could not remove.

    `prumo run` removes everything by itself, also after Ctrl-C or when it is killed. This is for
    what remains when the whole machine has failed. It reads the ledger in the results folder.

    Exit codes: 0 nothing remains, 1 something does, 2 bad input.
    """
    ledger = Ledger(results / LEDGER_FILE)
    if not ledger.path.exists():
        raise InputError(f"{results} has no {LEDGER_FILE}: nothing was created on SageMaker")
    count = len(ledger.remaining())
    with shown_progress() as progress:
        keeper = Keeper(ledger, progress)
        remaining = keeper.close()
    click.echo(f"{count - len(remaining)} resources removed, {len(remaining)} remain")
    if remaining:
        sys.exit(ExitCode.FINDINGS)
