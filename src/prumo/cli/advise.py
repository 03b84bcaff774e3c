"""`prumo advise`: which configuration to choose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, table_console
from prumo.cli.numbers import FiniteFloatRange
from prumo.cli.options import (
    amount,
    billing_options,
    duration,
    exchange_options,
    language_option,
    purchase_option,
)
from prumo.errors import InputError, did_you_mean
from prumo.money.advice import Need, Strategy, over_epochs
from prumo.money.cost import cost_settings, costing, currencies, in_folder
from prumo.money.study_prices import asked_rates, kept_exchange, no_prices, pricing_day
from prumo.report.advice import advice_document, advice_report, print_advice
from prumo.report.cost_sentences import epochs_remark
from prumo.results.tables import Results, runs_where

if TYPE_CHECKING:
    from prumo.cli.options import Amount
    from prumo.money.billing import Exchange
    from prumo.money.cost import Costing
    from prumo.money.price import Purchase
    from prumo.report.language import Language


@click.command(
    epilog="Example:  prumo advise results/ufrpe-2024 --deadline 2h --budget 5USD --strategy cost"
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RESULTS")
@click.option(
    "--deadline", type=duration, metavar="TIME", help="Longest time for one run, such as 2h."
)
@click.option(
    "--budget", type=amount, metavar="AMOUNT", help="Most that one run may cost, such as 5USD."
)
@click.option(
    "--strategy",
    type=click.Choice([strategy.value for strategy in Strategy]),
    help="What to optimise: cost, speed, or balanced, which weighs both equally, each as a share "
    "of the largest value, as AWS Lambda Power Tuning does.  [default: cost; speed if no price is "
    "known]",
)
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    help="Answer for trainings of this many epochs, each as long as a measured one.",
)
@click.option("--only", default="", metavar="RULE", help="Use only scenarios that satisfy RULE.")
@click.option(
    "--given",
    multiple=True,
    metavar="FACTOR",
    help="A factor that you cannot choose: each of its levels gets its own answer. Networks, data "
    "sets, image sizes and epochs are always given. Repeatable.",
)
@click.option("--price", metavar="PRICE", help="Price all runs at this price instead.")
@purchase_option
@exchange_options
@billing_options
@click.option(
    "--confidence",
    type=FiniteFloatRange(0.5, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Probability from which a statement counts as certain.",
)
@language_option
@click.option("--json", "as_json", is_flag=True, help="Print the advice as JSON.")
def command(  # noqa: PLR0913 (one argument per option)
    folder: Path,
    deadline: float | None,
    budget: Amount | None,
    strategy: str | None,
    epochs: int | None,
    only: str,
    given: tuple[str, ...],
    price: str | None,
    purchase: Purchase | None,
    exchange: Exchange | None,
    billing: dict[str, object],
    confidence: float,
    language: Language,
    as_json: bool,
) -> None:
    """Choose among the configurations measured in RESULTS.

    Names the best configuration and the runner-up, by how much they differ and how certain
    that is, and which configurations miss the deadline or the budget. Both limits apply to one
    run: a training, or an answer. Every network, data set and image size gets its own answer,
    because a small task is not a cheaper way to do a large one. Where the runs cannot separate
    two configurations, the answer says so.
    """
    results = Results(folder)
    asked = asked_rates(results, [price] if price else [], purchase)
    rates = next(iter(asked.values()))
    runs = runs_where(results, only)
    costs = in_folder(
        costing(
            runs if epochs is None else over_epochs(runs, epochs),
            rates,
            cost_settings(results).model_copy(update=billing),
            exchange or kept_exchange(results),
        ),
        results,
        pricing_day(results, is_kept=price is None and purchase is None),
    )
    need = Need(
        Strategy(strategy or ("cost" if rates else "speed")),
        deadline,
        budget.value if budget else None,
        confidence,
    )
    if need.needs_price and not rates:
        raise InputError(no_prices(results))
    for factor in given:
        if factor not in results.factors:
            hint = did_you_mean(factor, results.factors)
            raise InputError(f"{results.study_name} has no factor '{factor}': {hint}")
    report = advice_report(costs, results.factors, need, _currency(costs, budget), given)
    if epochs is not None:
        report = replace(report, remarks=(epochs_remark(epochs), *report.remarks))
    if as_json:
        print_json(advice_document(report, language))
    else:
        print_advice(report, table_console(), language)


def _currency(costs: Costing, budget: Amount | None) -> str | None:
    """The budget's currency, or the first of the prices."""
    known = currencies(costs.rates, costs.exchange)
    if budget is None or not budget.currency:
        return costs.currency
    if budget.currency not in known:
        raise InputError(
            f"these prices are in {' and '.join(known)}; for a budget in {budget.currency} give "
            f"--currency {budget.currency} --rate RATE --rate-date DATE"
        )
    return budget.currency
