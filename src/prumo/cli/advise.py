"""`prumo advise`: which configuration to choose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import click

from prumo.cli.console import print_json, table_console
from prumo.cli.numbers import FiniteFloatRange, WholeRange
from prumo.cli.options import (
    MOST_REQUESTS_PER_DAY,
    amount,
    billing_options,
    duration,
    exchange_options,
    language_option,
    purchase_option,
)
from prumo.errors import InputError, did_you_mean
from prumo.money.terms import Strategy

if TYPE_CHECKING:
    from prumo.cli.options import Amount
    from prumo.money.billing import Exchange
    from prumo.money.cost import Costing
    from prumo.money.price import Purchase
    from prumo.report.language import Language
    from prumo.report.traffic import TrafficAdvice
    from prumo.results.tables import Results


ANSWER_COLUMNS = 80
EPILOG = """\b
Examples:
  prumo advise results/ufrpe-2024 --deadline 2h --budget 5USD --strategy cost
  prumo advise results/ufrgs-memory --p95 500ms --requests-per-day 2000
"""


@click.command(epilog=EPILOG)
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
@click.option(
    "--requests-per-day",
    type=WholeRange(1, MOST_REQUESTS_PER_DAY),
    metavar="N",
    help="Studies of requests: answer for this traffic.",
)
@click.option(
    "--p95", type=duration, metavar="TIME", help="Longest time for 95 % of the requests: 500ms."
)
@click.option("--p99", type=duration, metavar="TIME", help="Longest time for 99 % of the requests.")
@click.option(
    "--idle-timeout",
    type=duration,
    metavar="TIME",
    help="After how long a serverless platform stops an idle instance.  [default: 10min]",
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
    requests_per_day: int | None,
    p95: float | None,
    p99: float | None,
    idle_timeout: float | None,
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

    A study of requests is answered for a traffic: serverless endpoints with and without
    something that keeps them warm, instances and machines, from which traffic on another one is
    cheaper, and how likely a latency goal is kept.
    """
    from prumo.money.advice import Need, over_epochs
    from prumo.money.cost import cost_settings, costing, in_folder
    from prumo.money.study_prices import asked_rates, kept_exchange, no_prices, pricing_day
    from prumo.report.advice import advice_document, advice_report, print_advice
    from prumo.report.cost_sentences import epochs_remark
    from prumo.report.traffic import DEFAULT_IDLE_TIMEOUT, TrafficNeed
    from prumo.results.tables import Results, runs_where

    results = Results(folder)
    goals = {share: goal for share, goal in ((0.95, p95), (0.99, p99)) if goal is not None}
    asks_traffic = bool(goals) or requests_per_day is not None or idle_timeout is not None
    asks_runs = deadline is not None or budget is not None or bool(strategy or epochs)
    answers = results.study.workload.advice if results.study is not None else ""
    if asks_traffic and not answers:
        raise InputError(
            f"{results.study_name} sends no requests: leave --requests-per-day, --p95, --p99 and "
            "--idle-timeout out"
        )
    if asks_traffic and asks_runs:
        raise click.UsageError(
            "--deadline, --budget, --strategy and --epochs are about single runs; leave them out, "
            "or --requests-per-day, --p95, --p99 and --idle-timeout."
        )
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
    _check_factors(results, given)
    if answers and not asks_runs and (rates or asks_traffic):
        if not rates:
            raise InputError(no_prices(results))
        asked_traffic = TrafficNeed(
            requests_per_day, goals, idle_timeout or DEFAULT_IDLE_TIMEOUT, given, confidence
        )
        _print_traffic(resolve_name(answers)(costs, asked_traffic), language, as_json=as_json)
        return
    need = Need(
        Strategy(strategy or ("cost" if rates else "speed")),
        deadline,
        budget.value if budget else None,
        confidence,
    )
    if need.needs_price and not rates:
        raise InputError(no_prices(results))
    report = advice_report(costs, results.factors, need, _currency(costs, budget), given)
    if epochs is not None:
        report = replace(report, remarks=(epochs_remark(epochs), *report.remarks))
    if as_json:
        print_json(advice_document(report, language))
    else:
        print_advice(report, table_console(), language)


def _print_traffic(advice: TrafficAdvice, language: Language, *, as_json: bool) -> None:
    """A few sentences and a table, or all that was found."""
    from prumo.report.traffic import print_traffic

    if as_json:
        answers = [
            {
                "work": answer.work or None,
                **answer.document,
                "sentences": [language.say(sentence) for sentence in answer.sentences],
            }
            for answer in advice.answers
        ]
        summary = [language.say(sentence) for sentence in advice.summary]
        print_json({**advice.document, "summary": summary, "answers": answers})
        return
    console = table_console()
    # An answer is read, also from a pipe; names of endpoints make its lines long.
    console.width = min(console.width, ANSWER_COLUMNS)
    print_traffic(advice, console, language)


def _check_factors(results: Results, given: tuple[str, ...]) -> None:
    for factor in given:
        if factor not in results.factors:
            hint = did_you_mean(factor, results.factors)
            raise InputError(f"{results.study_name} has no factor '{factor}': {hint}")


def _currency(costs: Costing, budget: Amount | None) -> str | None:
    """The budget's currency, or the first of the prices."""
    from prumo.money.cost import currencies

    known = currencies(costs.rates, costs.exchange)
    if budget is None or not budget.currency:
        return costs.currency
    if budget.currency not in known:
        raise InputError(
            f"these prices are in {' and '.join(known)}; for a budget in {budget.currency} give "
            f"--currency {budget.currency} --rate RATE --rate-date DATE"
        )
    return budget.currency
