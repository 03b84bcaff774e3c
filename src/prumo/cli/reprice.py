"""`prumo reprice`: change the prices that a results folder's amounts are computed with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json
from prumo.cli.options import exchange_options, purchase_option
from prumo.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.money.billing import Exchange
    from prumo.money.terms import Purchase


@click.command(
    epilog="Example:  prumo reprice results/ufrpe-2024 --machine gpu=aws/g4dn.xlarge@us-east-1 "
    "--purchase spot"
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RESULTS")
@click.option("--price", metavar="PRICE", help="Price of all machines, as provider/sku@region.")
@click.option(
    "--machine",
    "machines",
    multiple=True,
    metavar="LABEL=PRICE",
    help="Price of one machine of the study; repeatable.",
)
@purchase_option
@exchange_options
@click.option("--json", "as_json", is_flag=True, help="Print the prices as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    folder: Path,
    price: str | None,
    machines: tuple[str, ...],
    purchase: Purchase | None,
    exchange: Exchange | None,
    as_json: bool,
) -> None:
    """Change the prices that the results folder RESULTS is computed with.

    Without options, takes the prices that the study names from today's catalog. With options,
    changes only what they say. Reports use the prices kept here and never change them; earlier
    prices stay in prices.json.
    """
    from prumo.money.cost import cost_settings
    from prumo.money.study_prices import EVERY_MACHINE, Repricing, reprice
    from prumo.report.cost_sentences import age_notes, exchange_message, rate_message
    from prumo.results.folder import ResultsFolder
    from prumo.results.tables import Results

    named = ({EVERY_MACHINE: price} if price else {}) | _named(machines)
    results = Results(folder)
    with ResultsFolder.existing(folder).locked():
        prices = reprice(folder, results.study, Repricing(named, purchase, exchange))
    if as_json:
        print_json(prices)
        return
    exact = cost_settings(results).rental == "shared"
    for label, kept in prices.rates.items():
        click.echo(f"{label or 'all machines'}: {rate_message(kept, exact=exact)}")
    for note in age_notes(prices.rates, prices.made):
        click.echo(str(note))
    if prices.exchange is not None:
        click.echo(f"exchange: {exchange_message(prices.exchange)}")


def _named(machines: Sequence[str]) -> dict[str, str]:
    """Label → price, of options written as LABEL=PRICE."""
    named = {}
    for text in machines:
        label, equals, price = text.partition("=")
        if not (label and equals and price):
            raise InputError(f"--machine {text} should be LABEL=PRICE, as gpu=aws/g4dn.xlarge")
        named[label] = price
    return named
