"""The price of a Terraform plan: the answer, a table, what is not priced, and JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from rich import box
from rich.table import Table
from rich.text import Text

from prumo.money.billing import HOURS_PER_MONTH
from prumo.money.terraform_plan import Cost
from prumo.quantity import Quantity

if TYPE_CHECKING:
    from rich.console import Console

    from prumo.money.terraform_plan import PlanPrice, Usage

WIDTH = 80


def print_plan_price(price: PlanPrice, usage: Usage, console: Console) -> None:
    """Print the answer first, then each endpoint and machine, then what is left out."""
    click.echo("\n".join(_answer(price, usage)))
    if price.items:
        console.print(_table(price), width=WIDTH)
    for reason in dict.fromkeys(price.not_priced):
        console.print(Text(f"! {reason}"), width=WIDTH)
    for remedy in dict.fromkeys(price.remedies):
        click.echo(f"to fetch it:  {remedy}")
    if price.small:
        kinds = "; ".join(sorted(set(price.small.values())))
        console.print(Text(f"small, not priced: {len(price.small)} ({kinds})"), width=WIDTH)
    for used in sorted(price.prices):
        click.echo(f"price: {used}")


def plan_price_json(price: PlanPrice, usage: Usage) -> dict[str, object]:
    """The same for a program."""
    return {
        "before": asdict(price.before),
        "after": asdict(price.after),
        "usd_per_month": price.after.usd_per_hour * HOURS_PER_MONTH,
        **asdict(price),
        "prices": sorted(price.prices),
        "usage": asdict(usage),
    }


def _answer(price: PlanPrice, usage: Usage) -> list[str]:
    before, after = price.before, price.after
    least = "at least " if price.not_priced else ""
    if not price.items:
        return [f"{least or 'nothing: '}$0.00, no endpoint and no machine in this plan"]
    if price.is_unpriced:
        _, _, reason = price.not_priced[0].partition(": ")
        return [f"{reason}; so nothing in this plan is priced"]
    lines = []
    if after.usd_per_hour or not after.usd_per_1000_answers:
        lines.append(
            f"{least}{_money(after.usd_per_hour)} an hour, "
            f"{_money(after.usd_per_hour * HOURS_PER_MONTH)} a month as long as it exists"
        )
    if after.most_usd_per_hour > after.usd_per_hour:
        lines.append(f"at most {_money(after.most_usd_per_hour)} an hour with all instances")
    if after.usd_per_1000_answers:
        lines.append(
            f"{least}{_money(after.usd_per_1000_answers)} per 1,000 answers of "
            f"{Quantity(usage.answer_seconds, 's', 3)}; data in and out comes on top"
        )
    return [*lines, *([_difference(before, after)] if before != Cost() else [])]


def _difference(before: Cost, after: Cost) -> str:
    parts = [
        f"{_money(abs(new - old))} {'more' if new > old else 'less'} {per}"
        for old, new, per in (
            (before.usd_per_hour, after.usd_per_hour, "an hour"),
            (before.usd_per_1000_answers, after.usd_per_1000_answers, "per 1,000 answers"),
        )
        if new != old
    ]
    return f"against now: {', '.join(parts) or 'the same'}"


def _table(price: PlanPrice) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for head in ("resource", "plan", "what"):
        table.add_column(head, overflow="fold")
    for head in ("an hour", "a month", "1,000 answers"):
        table.add_column(head, justify="right", overflow="fold")
    for item in price.items:
        cost = item.after if item.after != Cost() else item.before
        amounts = (
            cost.usd_per_hour,
            cost.usd_per_hour * HOURS_PER_MONTH,
            cost.usd_per_1000_answers,
        )
        cells = (_money(amount) if amount else "-" for amount in amounts)
        table.add_row(Text(item.address), item.change, Text(item.what), *cells)
    return table


def _money(amount: float) -> str:
    return str(Quantity(amount, "USD", 3))
