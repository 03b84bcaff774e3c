"""Prices, findings about them and imports of them: tables and texts, and values for programs."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Group
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from prumo.money.lint import Problem
from prumo.money.price import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from rich.console import Console, JustifyMethod

    from prumo.money.lint import Finding
    from prumo.money.price import Price
    from prumo.money.update import Intake, Outcome

_NUMBERS = {"vCPUs", "GiB", "on demand", "spot"}
_SHOWN_FINDINGS = 30
_SHOWN_LEFT_OUT = 5
_ENDLESS = 10_000


# How each kind of finding is called, and what to do about it.
PROBLEM_TEXTS = {
    Problem.NO_PRICE: ("no price", "look it up at the provider, or leave the row out"),
    Problem.NOT_A_NUMBER: ("not a number", "correct the row"),
    Problem.ZERO: ("zero", "nothing is free by the hour: look the price up at the provider"),
    Problem.NEGATIVE: ("negative", "correct the row"),
    Problem.SENTINEL: ("sentinel", "the catalog knew no price and filled one in: look it up"),
    Problem.CURRENCY: ("unknown currency", "write the ISO 4217 code, as USD or BRL"),
    Problem.UNDATED: ("no date", "say of which day it is: `prumo price import FILE --as-of DATE`"),
    Problem.FUTURE: ("date in the future", "correct the date"),
    Problem.DUPLICATE: ("duplicate", "keep one row for each name and date"),
    Problem.STALE: ("stale", "fetch a newer one: `prumo price update`"),
    Problem.SPOT_ABOVE_ON_DEMAND: (
        "spot above on demand",
        "spot should cost less than on demand: look it up",
    ),
    Problem.NO_SOURCE: ("no source", "say where it comes from in the column `source`"),
}


def print_prices(prices: Sequence[Price], limit: int, console: Console) -> None:
    """A table, and how much of the whole it is."""
    if not prices:
        click.echo("no price fits; ask for less, or fetch more with `prumo price update`")
        return
    shown = prices[:limit] if limit else prices
    table = _table(shown)
    room = console.options.update_width(_ENDLESS)
    is_narrow = console.is_terminal and console.measure(table, options=room).maximum > console.width
    console.print(narrow_table(shown) if is_narrow else table)
    if len(shown) < len(prices):
        click.echo(f"{len(shown)} of {len(prices)} prices; --limit 0 shows all")


def narrow_table(prices: Sequence[Price]) -> Table:
    """Names and amounts, and below each what else is known of it."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for head in ("price", "on demand", "spot", "for"):
        table.add_column(head, justify="right" if head in _NUMBERS else "left", overflow="fold")
    for price in prices:
        name, vcpus, gib, gpu, on_demand, spot, unit, as_of, source = _cells(price)
        machine = [f"{vcpus} vCPUs" if vcpus else "", f"{gib} GiB" if gib else "", gpu]
        about = "; ".join(filter(None, [", ".join(filter(None, machine)), as_of, source]))
        about_it = Padding(Text(about, style="dim"), (0, 0, 0, 2))
        table.add_row(Group(Text(name), about_it), on_demand, spot, unit)
    return table


def print_price(price: Price, kept: str, findings: Sequence[Finding], today: date) -> None:
    """Everything about one price, line by line."""
    days = (today - price.as_of).days if price.as_of else 0
    age = f"{days} day{'' if days == 1 else 's'} old" if days > 0 else "today"
    rows = {
        "price": price.name,
        "kind": price.kind.value,
        "vCPUs": _number(price.vcpus),
        "memory": f"{price.memory_gib:g} GiB" if price.memory_gib else "",
        "GPU": _gpu(price),
        "on demand": _with_unit(price, price.on_demand),
        "spot": _with_unit(price, price.spot),
        "as of": f"{price.as_of} ({age})" if price.as_of else "",
        "source": price.source,
        "kept in": kept,
    }
    if price.kind in {Kind.DATA, Kind.SERVERLESS}:
        del rows["vCPUs"], rows["GPU"], rows["spot"]
    for label, value in rows.items():
        click.echo(f"{label:<10} {value or '-'}")
    for finding in findings:
        title, advice = PROBLEM_TEXTS[finding.problem]
        click.echo(f"{click.style('!', fg='yellow')} {title}: {advice}")


def print_findings(findings: Sequence[Finding], title: str, most: int = _SHOWN_FINDINGS) -> None:
    """The findings of a list, by problem, each with its advice once."""
    by_problem = sorted(findings, key=lambda finding: finding.problem)
    for problem, group in groupby(by_problem, key=lambda finding: finding.problem):
        listed = list(group)
        mark = click.style("!", fg="red" if problem.spoils else "yellow")
        name, advice = PROBLEM_TEXTS[problem]
        times = "once" if len(listed) == 1 else f"{len(listed)} times"
        click.echo(f"{mark} {title}: {name}, {times}; {advice}")
        width = max(len(finding.price.name) for finding in listed[:most])
        for finding in listed[:most]:
            click.echo(f"    {finding.price.name:<{width}}  {finding.detail}")
        if len(listed) > most:
            click.echo(f"    and {len(listed) - most} more; --json has all")


def print_intake(intake: Intake, title: str) -> None:
    """What was left out, what was kept, and where."""
    print_findings(intake.left_out, f"{title}, left out", most=_SHOWN_LEFT_OUT)
    days = sorted({str(price.as_of) for price in intake.kept})
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    kept = "1 price" if len(intake.kept) == 1 else f"{len(intake.kept)} prices"
    click.echo(f"{title}: {kept} of {span} → {', '.join(map(str, intake.files))}")


def no_usable_price(intake: Intake) -> str:
    """Why nothing could be kept of what was imported or fetched."""
    counts = Counter(finding.problem for finding in intake.left_out)
    reasons = [
        f"  {title}: {count}; {advice}"
        for problem, count in counts.items()
        for title, advice in [PROBLEM_TEXTS[problem]]
    ]
    return "\n".join([f"{intake.place}: no price can be used:", *reasons])


def failure_of(outcome: Outcome) -> str:
    """Why there are no new prices of a provider; empty where there are."""
    if outcome.intake is not None and not outcome.intake.kept:
        return no_usable_price(outcome.intake)
    return outcome.failure


def price_json(price: Price) -> dict[str, object]:
    """A price for a program."""
    return {"name": price.name, **price.model_dump(mode="json")}


def finding_json(finding: Finding) -> dict[str, object]:
    """A finding for a program."""
    return {
        "problem": finding.problem.value,
        "spoils": finding.problem.spoils,
        "price": finding.price.name,
        "detail": finding.detail,
        "advice": PROBLEM_TEXTS[finding.problem][1],
    }


def intake_json(intake: Intake) -> dict[str, object]:
    """What became of an import, for a program."""
    return {
        "kept": [price_json(price) for price in intake.kept],
        "left_out": [finding_json(finding) for finding in intake.left_out],
        "files": [str(file) for file in intake.files],
    }


def _table(prices: Sequence[Price]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("price", "vCPUs", "GiB", "GPU", "on demand", "spot", "for", "as of", "source"):
        justify: JustifyMethod = "right" if head in _NUMBERS else "left"
        table.add_column(head, justify=justify, no_wrap=head != "source")
    for price in prices:
        table.add_row(*map(escape, _cells(price)))
    return table


def _cells(price: Price) -> list[str]:
    return [
        price.name,
        _number(price.vcpus),
        _number(price.memory_gib),
        _gpu(price),
        _amount(price.on_demand),
        _amount(price.spot),
        f"{price.currency}/{price.unit.value}",
        str(price.as_of or "?"),
        price.source or "?",
    ]


def _with_unit(price: Price, amount: float | None) -> str:
    if amount is None:
        return ""
    return f"{_amount(amount)} {price.currency} per {price.unit.value}"


def _gpu(price: Price) -> str:
    if price.accelerator_count in {0, 1} or not price.accelerator:
        return price.accelerator
    return f"{price.accelerator_count:g} x {price.accelerator}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _amount(amount: float | None) -> str:
    """All its digits, and never 2e-05."""
    return "" if amount is None else f"{Decimal(str(amount)):f}"
