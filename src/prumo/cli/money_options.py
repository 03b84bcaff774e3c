"""The options of commands that turn time into money."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from prumo.cli.amount import duration, exchange_rate
from prumo.price.exchange import Exchange, currency_code
from prumo.price.price import Purchase

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from prumo.study import CostSettings

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

# Somewhere on Earth it is tomorrow already.
DAYS_AHEAD = timedelta(days=1)


purchase_option = click.option(
    "--purchase",
    type=click.Choice([purchase.value for purchase in Purchase]),
    help="How the machines are bought.",
)


def exchange_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Amounts in another currency as well, at a dated rate."""
    options: list[Decorator] = [
        click.option(
            "--rate-date",
            type=click.DateTime(["%Y-%m-%d"]),
            metavar="DATE",
            help="The day of that rate, as 2026-11-14.",
        ),
        click.option(
            "--rate",
            type=exchange_rate,
            metavar="RATE",
            help="What one USD costs, as 5.40.",
        ),
        click.option("--currency", metavar="CODE", help="Amounts in this currency too, as BRL."),
    ]
    for option in options:
        command = option(command)
    return command


def billing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What of a run is paid for, instead of what the study says."""
    options: list[Decorator] = [
        click.option(
            "--rental",
            type=click.Choice(["own", "shared"]),
            help="shared: a run is a part of a longer rental and pays for its time exactly; own: "
            "every run rents a machine, so minimum and rounding count each time.  [default: the "
            "study's, or shared]",
        ),
        click.option(
            "--idle",
            type=duration,
            metavar="TIME",
            help="Rented and idle time to bill with every run, as 10min.",
        ),
        click.option("--setup", is_flag=True, help="Bill the whole process with its set-up."),
    ]
    for option in options:
        command = option(command)
    return command


def exchange_of(
    currency: str | None, rate: float | None, rate_date: datetime | None
) -> Exchange | None:
    """The exchange that the three options say together."""
    if currency is None and rate is None and rate_date is None:
        return None
    if currency is None or rate is None or rate_date is None:
        raise click.UsageError(
            "another currency needs all three: --currency BRL --rate 5.40 --rate-date 2026-11-14"
        )
    if rate_date.date() > datetime.now(UTC).date() + DAYS_AHEAD:
        raise click.BadParameter(
            f"{rate_date.date()} is in the future; give the day on which the rate was so",
            param_hint="--rate-date",
        )
    exchange = Exchange(currency=currency_code(currency), rate=rate, as_of=rate_date.date())
    if exchange.currency == exchange.base:
        raise click.BadParameter(f"give another than {currency}", param_hint="--currency")
    return exchange


def settings_with(
    settings: CostSettings, *, setup: bool, idle: float | None, rental: str | None
) -> CostSettings:
    """The study's settings with what the options change."""
    changes: dict[str, object] = {"setup": True, "metric": None} if setup else {}
    if idle is not None:
        changes["idle_seconds"] = idle
    if rental is not None:
        changes["rental"] = rental
    return settings.model_copy(update=changes)
