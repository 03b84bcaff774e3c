"""What a user looks for in the catalog, and what fits it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prumo.errors import InputError, did_you_mean
from prumo.price.price import Kind, Price, Purchase, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

# Regions of different continents are spelt nearly alike: sa-east-1, us-east-1.
REGION_SIMILARITY = 0.9


@dataclass(frozen=True)
class Search:
    """Wishes that a price must fulfil; what is left out is not asked for."""

    gpu: str = ""
    """The accelerator, as `T4`; `A100` is also that of `A100-80GB`, `tpu` any TPU."""
    maximum: float | None = None
    provider: str = ""
    region: str = ""
    vcpus: float | None = None
    """At least so many."""
    memory_gib: float | None = None
    """At least so much."""
    purchase: Purchase = Purchase.ON_DEMAND
    kind: Kind | None = None
    """Without one, everything that is paid by the hour."""
    currency: str = "USD"


def select(prices: Sequence[Price], provider: str, region: str) -> list[Price]:
    """The prices of a provider in a region; either may be left out."""
    _check_word("provider", provider, {price.provider for price in prices})
    _check_region(region, {price.region for price in prices}, provider)
    return [
        price
        for price in prices
        if provider in {"", price.provider} and region in {"", price.region}
    ]


def find(prices: Sequence[Price], search: Search) -> list[Price]:
    """The prices that fit, the cheapest first."""
    _check_word("currency", search.currency, {price.currency for price in prices})
    _check_gpu(search.gpu, {price.accelerator for price in prices if price.accelerator})
    selected = select(prices, search.provider, search.region)
    found = [price for price in selected if _fits(price, search)]
    return sorted(found, key=lambda price: (price.amount(search.purchase), price.name))


def other_currencies(prices: Sequence[Price], search: Search) -> list[str]:
    """In which other currencies there are prices that would fit, whatever their amounts."""
    wider = replace(search, maximum=None)
    return sorted(
        {
            price.currency
            for price in select(prices, search.provider, search.region)
            if price.currency != search.currency
            and _fits(price, replace(wider, currency=price.currency))
        }
    )


def _check_word(name: str, word: str, known: set[str]) -> None:
    """A misspelt word is told, so that it is not taken for «there is none»."""
    if word and word not in known:
        raise InputError(f"no price has the {name} '{word}'; {did_you_mean(word, known)}")


def _check_region(region: str, known: set[str], provider: str) -> None:
    if region and region not in known:
        hint = did_you_mean(region, known - {""}, REGION_SIMILARITY)
        of_provider = f" --provider {provider}" if provider else ""
        raise InputError(
            f"no price has the region '{region}'; {hint}\n"
            f"To fetch its prices:  prumo price update{of_provider} --region {region}"
        )


def _check_gpu(wanted: str, known: set[str]) -> None:
    if not any(_is_gpu(gpu, wanted) for gpu in known):
        _check_word("GPU", wanted, known)


def _fits(price: Price, search: Search) -> bool:
    amount = price.amount(search.purchase)
    return (
        amount is not None
        and price.currency == search.currency
        and (search.maximum is None or amount <= search.maximum)
        and (not search.gpu or _is_gpu(price.accelerator, search.gpu))
        and _is_at_least(price.vcpus, search.vcpus)
        and _is_at_least(price.memory_gib, search.memory_gib)
        and (price.unit is Unit.HOUR if search.kind is None else price.kind is search.kind)
    )


def _is_gpu(accelerator: str, wanted: str) -> bool:
    accelerator, wanted = accelerator.lower(), wanted.lower()
    return accelerator == wanted or accelerator.startswith(f"{wanted}-")


def _is_at_least(value: float | None, least: float | None) -> bool:
    return least is None or (value is not None and value >= least)
