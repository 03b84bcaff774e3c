"""What is wrong or doubtful in a list of prices, as one enumeration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from prumo.money.catalog import newest
from prumo.money.terms import MAX_AGE_DAYS

if TYPE_CHECKING:
    from prumo.money.price import Price

# What catalogs fill in where they know no price: SkyPilot 700 USD an hour for TPUs, others nines.
SENTINELS = frozenset({700.0, 999.0, 9999.0, 99999.0, 999999.0})

# Somewhere on Earth it is tomorrow already.
_DAYS_AHEAD = 1


class Problem(StrEnum):
    """A kind of finding, as programs read it; `report.prices` has its title and advice."""

    NO_PRICE = "no_price"
    NOT_A_NUMBER = "not_a_number"
    ZERO = "zero"
    NEGATIVE = "negative"
    SENTINEL = "sentinel"
    CURRENCY = "currency"
    UNDATED = "undated"
    FUTURE = "future"
    DUPLICATE = "duplicate"
    STALE = "stale"
    SPOT_ABOVE_ON_DEMAND = "spot_dearer"
    NO_SOURCE = "no_source"

    @property
    def spoils(self) -> bool:
        """Whether such a price is of no use."""
        return self not in _DOUBTFUL


_DOUBTFUL = {
    Problem.DUPLICATE,
    Problem.STALE,
    Problem.SPOT_ABOVE_ON_DEMAND,
    Problem.NO_SOURCE,
}


@dataclass(frozen=True)
class Finding:
    """One problem of one price."""

    problem: Problem
    price: Price
    detail: str


def lint(prices: Iterable[Price], today: date, max_age_days: int = MAX_AGE_DAYS) -> list[Finding]:
    """Every problem of every price in its order; of one name only the newest can be stale."""
    listed = list(prices)
    counting = {id(price) for price in newest(listed)}
    times = Counter((price.name, price.as_of) for price in listed)
    findings: list[Finding] = []
    for price in listed:
        findings += _amount_findings(price)
        findings += _origin_findings(price, today)
        age_days = (today - price.as_of).days if price.as_of else 0
        if id(price) in counting and age_days > max_age_days:
            detail = f"of {price.as_of}, {age_days} days old"
            findings.append(Finding(Problem.STALE, price, detail))
        count = times.pop((price.name, price.as_of), 1)
        if count > 1:
            findings.append(Finding(Problem.DUPLICATE, price, f"{count} rows of {price.as_of}"))
    return findings


def amount_problem(amount: float) -> Problem | None:
    """Why nobody pays such an amount; None where it is plausible."""
    if not math.isfinite(amount):
        return Problem.NOT_A_NUMBER
    if amount < 0:
        return Problem.NEGATIVE
    if amount == 0:
        return Problem.ZERO
    return Problem.SENTINEL if amount in SENTINELS else None


def _amount_findings(price: Price) -> Iterator[Finding]:
    amounts = {"on demand": price.on_demand, "spot": price.spot}
    given = {name: amount for name, amount in amounts.items() if amount is not None}
    if not given:
        yield Finding(Problem.NO_PRICE, price, "neither on demand nor spot")
    for problem in Problem:
        wrong = [
            f"{name} {amount:g}"
            for name, amount in given.items()
            if amount_problem(amount) is problem
        ]
        if wrong:
            yield Finding(problem, price, ", ".join(wrong))
    if price.on_demand is not None and price.spot is not None and price.spot > price.on_demand:
        detail = f"spot {price.spot:g}, on demand {price.on_demand:g}"
        yield Finding(Problem.SPOT_ABOVE_ON_DEMAND, price, detail)


def _origin_findings(price: Price, today: date) -> Iterator[Finding]:
    if price.currency not in _currencies():
        yield Finding(Problem.CURRENCY, price, f"'{price.currency}'")
    if not price.source:
        yield Finding(Problem.NO_SOURCE, price, "it names no source")
    if price.as_of is None:
        yield Finding(Problem.UNDATED, price, "it has no date")
    elif (price.as_of - today).days > _DAYS_AHEAD:
        yield Finding(Problem.FUTURE, price, f"{price.as_of}")


@cache
def _currencies() -> set[str]:
    from babel.numbers import list_currencies  # noqa: PLC0415 (slow, and most ask for other things)

    return set(list_currencies())
