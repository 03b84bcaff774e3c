"""All prices that are known here: those that Prumo ships, and the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from importlib.resources import files
from typing import TYPE_CHECKING

from prumo.errors import InputError, did_you_mean
from prumo.price.own import own_prices
from prumo.price.table import read_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo.price.price import Price


@dataclass(frozen=True)
class Catalog:
    """One price for each name, the newest."""

    prices: tuple[Price, ...]
    own: frozenset[str] = frozenset()
    """The names of the prices that the user brought."""

    def named(self, text: str) -> Price:
        """The price of `provider/sku@region`; without a region where there is only one."""
        machine, _, region = text.partition("@")
        regions = {price.region: price for price in self.prices if _machine_name(price) == machine}
        if not regions:
            raise InputError(f"no price is known of '{machine}'; {self._hint(machine)}")
        if region in regions:
            return regions[region]
        if region:
            raise InputError(
                f"no price of {machine} is known in '{region}'; {did_you_mean(region, regions)}"
            )
        if len(regions) > 1:
            raise InputError(
                f"{machine} has a price in {len(regions)} regions; "
                f"name one, as {next(iter(regions.values())).name}: {', '.join(regions)}"
            )
        return next(iter(regions.values()))

    def _hint(self, machine: str) -> str:
        near = get_close_matches(machine, {_machine_name(price) for price in self.prices}, n=1)
        if near:
            return f"did you mean '{near[0]}'?"
        provider, slash, _ = machine.partition("/")
        providers = {price.provider for price in self.prices}
        if not slash or provider not in providers:
            return f"it is written as provider/sku, with one of {', '.join(sorted(providers))}"
        return f"`prumo price list --provider {provider}` shows what is known"


def load_catalog() -> Catalog:
    """The shipped prices and the user's own; of one name the newest."""
    own = own_prices()
    prices = newest((*shipped_prices(), *own))
    brought = {id(price) for price in own}
    return Catalog(prices, frozenset(price.name for price in prices if id(price) in brought))


def shipped_prices() -> list[Price]:
    """The prices that came with this version of Prumo."""
    folder = files("prumo.price").joinpath("catalogs")
    return [
        price
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        for price in read_table(file.read_text(encoding="utf-8").splitlines(), file.name)
    ]


def newest(prices: Iterable[Price]) -> tuple[Price, ...]:
    """Of each name the price with the latest date, and of one date the last given."""
    kept: dict[str, Price] = {}
    for price in prices:
        other = kept.get(price.name)
        if other is None or _age_key(price) >= _age_key(other):
            kept[price.name] = price
    return tuple(sorted(kept.values(), key=lambda price: (price.provider, price.sku, price.region)))


def _age_key(price: Price) -> date:
    """A price without a date is older than any that has one."""
    return price.as_of or date.min


def _machine_name(price: Price) -> str:
    return f"{price.provider}/{price.sku}"
