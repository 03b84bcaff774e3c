"""Taking prices in: useless rows are left out and told, the rest becomes the user's own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.errors import InputError
from prumo.price.catalog import load_catalog, newest
from prumo.price.lint import Finding, lint
from prumo.price.own import keep

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date
    from pathlib import Path

    from prumo.price.price import Price


@dataclass(frozen=True)
class Intake:
    """What became of prices that were brought."""

    kept: tuple[Price, ...]
    left_out: tuple[Finding, ...]
    """Why rows were of no use; one finding for each reason."""
    files: tuple[Path, ...]
    """Where they are kept now."""


def take_in(prices: Sequence[Price], place: str, today: date) -> Intake:
    """Keep the usable prices; where there is none, nothing changes and the reasons are told."""
    useless = tuple(finding for finding in lint(prices, today) if finding.problem.spoils)
    names = {id(finding.price) for finding in useless}
    usable = newest(price for price in prices if id(price) not in names)
    if not usable:
        raise InputError(f"{place}: no price can be used:\n{_reasons(useless)}")
    described = _described(usable)
    return Intake(described, useless, tuple(keep(described)))


def _reasons(findings: Iterable[Finding]) -> str:
    counts = Counter(finding.problem for finding in findings)
    return "\n".join(
        f"  {problem.title}: {count}; {problem.advice}" for problem, count in counts.items()
    )


def _described(prices: Sequence[Price]) -> tuple[Price, ...]:
    """Providers' own lists say little about machines: what is known of a SKU is filled in."""
    known = {
        (price.provider, price.sku): price
        for price in load_catalog().prices
        if price.vcpus or price.accelerator
    }
    return tuple(_filled_in(price, known.get((price.provider, price.sku))) for price in prices)


def _filled_in(price: Price, known: Price | None) -> Price:
    if known is None:
        return price
    filled: dict[str, object] = {}
    if price.vcpus is None:
        filled["vcpus"] = known.vcpus
    if price.memory_gib is None:
        filled["memory_gib"] = known.memory_gib
    if not price.accelerator and known.accelerator:
        filled |= {
            "accelerator": known.accelerator,
            "accelerator_count": known.accelerator_count,
        }
    return price.model_copy(update=filled)
