"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prumo.cli.numbers import FiniteFloatRange
from prumo.money.terms import Purchase

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from prumo.money.billing import Exchange
    from prumo.report.language import Language
    from prumo.study import Study


# The `DEFAULT_CONFIDENCE` of statistics, without the import of SciPy in every command.
CONFIDENCE = 0.95
MOST_REQUESTS_PER_DAY = 100_000_000
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|h|d)")
# With three digits behind it, a comma may stand between thousands.
_THOUSANDS = re.compile(r"\d+,\d{3}")
# Somewhere on Earth it is tomorrow already.
DAYS_AHEAD = timedelta(days=1)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]{3})?")


@dataclass(frozen=True)
class Amount:
    """A sum of money; without a currency, that of the prices."""

    value: float
    currency: str = ""


def duration(text: str) -> float:
    """The seconds of a time such as 2h, 90min, 1h30min, 45s or 500ms.

    >>> duration("1h30min"), duration("500ms")
    (5400.0, 0.5)
    """
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    if _PART.sub("", text).strip() or not seconds:
        raise click.BadParameter(f"'{text}' is not a time; write it as 2h, 1h30min, 45s or 500ms")
    return seconds


def exchange_rate(text: str) -> float:
    """A rate such as 5.40, or 5,40 where that can be read in one way only.

    >>> exchange_rate("5,40")
    5.4
    """
    if _THOUSANDS.fullmatch(text):
        raise click.BadParameter(f"'{text}' can be read in two ways; write it with a point")
    try:
        rate = float(text.replace(",", "."))
    except ValueError:
        rate = 0.0
    if not isfinite(rate) or rate <= 0:
        raise click.BadParameter(f"'{text}' is not a rate; write it as 5.40")
    return rate


def amount(text: str) -> Amount:
    """An amount such as 5USD, 12.50BRL or 5.

    >>> amount("12.50 brl")
    Amount(value=12.5, currency='BRL')
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None or float(found[1]) <= 0:
        raise click.BadParameter(f"'{text}' is not an amount; write it as 5USD or 12.50BRL")
    return Amount(float(found[1]), (found[2] or "").upper())


confidence_option = click.option(
    "--confidence",
    type=FiniteFloatRange(0, 1, min_open=True, max_open=True),
    default=CONFIDENCE,
    show_default=True,
    help="Confidence level of intervals and verdicts.",
)


def _language(context: click.Context, parameter: click.Parameter, tag: str) -> Language:
    del context, parameter
    from prumo.report.language import language

    return language(tag)


language_option = click.option(
    "--lang",
    "language",
    callback=_language,
    envvar="PRUMO_LANG",
    default="en",
    show_default=True,
    metavar="TAG",
    help="Language of texts and numbers: en or pt-BR.  [env: PRUMO_LANG]",
)


purchase_option = click.option(
    "--purchase",
    type=click.Choice([purchase.value for purchase in Purchase]),
    callback=lambda _context, _parameter, value: Purchase(value) if value else None,
    help="How the machines are bought: on demand or spot.",
)


def exchange_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Amounts in another currency as well, at a dated rate: the command gets an `exchange`."""

    @click.option(
        "--currency", metavar="CODE", help="Show amounts in this currency too, such as BRL."
    )
    @click.option(
        "--rate", type=exchange_rate, metavar="RATE", help="Price of one USD, such as 5.40."
    )
    @click.option(
        "--rate-date",
        type=click.DateTime(["%Y-%m-%d"]),
        metavar="DATE",
        help="Date of the exchange rate, such as 2026-11-14.",
    )
    @wraps(command)
    def with_exchange(
        *, currency: str | None, rate: float | None, rate_date: datetime | None, **options: object
    ) -> object:
        return command(exchange=_exchange(currency, rate, rate_date), **options)

    return with_exchange


def billing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What of a run is paid for: the command gets what changes in the study's `billing`."""

    @click.option("--setup", is_flag=True, help="Bill the whole process, including set-up.")
    @click.option(
        "--idle",
        type=duration,
        metavar="TIME",
        help="Idle time billed with every run, such as 10min.",
    )
    @click.option(
        "--rental",
        type=click.Choice(["own", "shared"]),
        help="shared: a run is part of a longer rental and pays for its exact time; own: every "
        "run rents its own machine, so the provider's minimum and rounding apply each time.  "
        "[default: the study's setting, or shared]",
    )
    @wraps(command)
    def with_billing(
        *, setup: bool, idle: float | None, rental: str | None, **options: object
    ) -> object:
        billing: dict[str, object] = {"setup": True, "metric": None} if setup else {}
        if idle is not None:
            billing["idle_seconds"] = idle
        if rental is not None:
            billing["rental"] = rental
        return command(billing=billing, **options)

    return with_billing


def _exchange(
    currency: str | None, rate: float | None, rate_date: datetime | None
) -> Exchange | None:
    from prumo.money.billing import Exchange, currency_code

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


def results_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The results folder of a study that is not in its usual place."""
    path = click.Path(path_type=Path)
    return click.option("--results", metavar="FOLDER", type=path, help=text)


def earlier_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Results folders to learn from."""
    path = click.Path(path_type=Path)
    return click.option("--from", "earlier", multiple=True, metavar="RESULTS", type=path, help=text)


scale_option = click.option(
    "--scale", metavar="NAME", help="Use one of the study's `scales`, such as small."
)


def load_study(file: Path, scale: str | None) -> Study:
    """Read a study, and scale it where a scale is named."""
    from prumo.study import load

    study = load(file)
    return study.scaled(scale) if scale else study
