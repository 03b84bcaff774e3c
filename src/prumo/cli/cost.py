"""`prumo cost`: what the runs of a results folder cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, table_console
from prumo.cli.numbers import FiniteFloatRange
from prumo.cli.options import (
    billing_options,
    confidence_option,
    exchange_options,
    language_option,
    purchase_option,
)
from prumo.errors import InputError

if TYPE_CHECKING:
    from prumo.money.billing import Exchange
    from prumo.money.terms import Purchase
    from prumo.report.language import Language


@click.command(
    epilog="Example:  prumo cost results/ufrpe-2024 --price gcp/n2-standard-4@southamerica-east1 "
    "--currency BRL --rate 5.40 --rate-date 2026-11-14"
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RESULTS")
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="PRICE",
    help="Price the runs at this price instead, as provider/sku@region; repeatable.",
)
@purchase_option
@exchange_options
@billing_options
@click.option(
    "--grid",
    type=FiniteFloatRange(0),
    metavar="GRAMS",
    help="Grams of CO2 per kWh where the machine runs.",
)
@click.option(
    "--watts-per-core",
    type=FiniteFloatRange(0, min_open=True),
    metavar="WATTS",
    help="Estimate the energy of runs whose machine did not measure it.",
)
@confidence_option
@language_option
@click.option("--csv", "as_csv", is_flag=True, help="Print the summary as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    folder: Path,
    prices: tuple[str, ...],
    purchase: Purchase | None,
    exchange: Exchange | None,
    billing: dict[str, object],
    grid: float | None,
    watts_per_core: float | None,
    confidence: float,
    language: Language,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show what the runs in the results folder RESULTS cost.

    Per run, epoch, 1,000 images or answer. Amounts use the prices kept with the results. With
    --price or --purchase the same measured runs are priced differently and nothing is changed;
    `prumo reprice` changes the prices that are kept. A run pays for its exact time, or with
    --rental own by its provider's billing rule. Intervals come from the spread of the runs.
    """
    from prumo.money.cost import cost_settings, costing, in_folder
    from prumo.money.study_prices import asked_rates, kept_exchange, no_prices, pricing_day
    from prumo.report.cost import cost_csv, cost_document, cost_report, print_costs
    from prumo.results.tables import Results

    if as_csv and as_json:
        raise click.UsageError("--csv and --json both want standard output; give one.")
    results = Results(folder)
    energy = {"grid_grams_per_kwh": grid, "watts_per_core": watts_per_core}
    given = {name: value for name, value in energy.items() if value is not None}
    settings = cost_settings(results).model_copy(update=billing | given)
    asked = asked_rates(results, prices, purchase)
    if not prices and not any(asked.values()):
        raise InputError(no_prices(results))
    exchange = exchange or kept_exchange(results)
    day = pricing_day(results, is_kept=not prices and purchase is None)
    reports = [
        cost_report(
            in_folder(costing(results.runs(), rates, settings, exchange), results, day),
            results.factors,
            confidence,
            title,
            is_what_if=bool(prices),
        )
        for title, rates in asked.items()
    ]
    if as_csv:
        click.echo(cost_csv(reports), nl=False)
    elif as_json:
        documents = [cost_document(report, language) for report in reports]
        print_json({"study": results.study_name, "costs": documents})
    else:
        print_costs(reports, table_console(), language)
