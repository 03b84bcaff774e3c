"""How times and sums of money are written on the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite

import click

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)")
# With three digits behind it, a comma may stand between thousands.
_THOUSANDS = re.compile(r"\d+,\d{3}")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]{3})?")


@dataclass(frozen=True)
class Amount:
    """A sum of money; without a currency, that of the prices."""

    value: float
    currency: str = ""


def duration(text: str) -> float:
    """The seconds of a time such as 2h, 90min, 1h30min or 45s.

    >>> duration("1h30min")
    5400.0
    """
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    if _PART.sub("", text).strip() or not seconds:
        raise click.BadParameter(f"'{text}' is not a time; write it as 2h, 90min, 1h30min or 45s")
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
