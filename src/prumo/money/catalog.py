"""The catalog of prices: the shipped and the user's own, and the search for those that fit."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from prumo.cache import cache_error, cache_folder, made_folder, reserved
from prumo.errors import InputError, did_you_mean
from prumo.files import write_whole
from prumo.money.price import Kind, Price, Purchase, Unit, read_table, table_text

PRICES = "prices"

# Regions of different continents are spelt nearly alike: sa-east-1, us-east-1.
REGION_SIMILARITY = 0.9
AWS_REGION = re.compile(
    "(af|ap|ca|cn|eu|il|me|mx|sa|us|us-gov)-(central|north|south|(north|south)?(east|west))-[1-9]"
)


class NoPriceError(InputError):
    """A machine or service whose price can be fetched or imported, and is not here yet."""

    def __init__(self, missing: str, remedy: str, hint: str = "") -> None:
        guess = f" {hint}" if hint else ""
        super().__init__(
            f"{missing};{guess} `{remedy}` fetches it, `prumo price import FILE` reads it from a "
            "file"
        )
        self.missing = missing
        """What has no price, and where."""
        self.remedy = remedy
        """The command that fetches it."""


def load_catalog() -> Catalog:
    """The shipped prices and the user's own; of one name the newest."""
    own = own_prices()
    prices = newest((*shipped_prices(), *own))
    brought = {id(price) for price in own}
    return Catalog(prices, frozenset(price.name for price in prices if id(price) in brought))


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
        provider, _, sku = machine.partition("/")
        fetch = f"prumo price update --provider {provider} --region {region}"
        if not regions:
            missing, hint = f"no price is known of '{machine}'", self._hint(machine)
            if region and sku and any(price.provider == provider for price in self.prices):
                guess = hint if hint.endswith("?") else ""
                raise NoPriceError(missing, f"{fetch} --sku {sku}", guess)
            raise InputError(f"{missing}; {hint}")
        if region and region not in regions:
            raise NoPriceError(
                f"no price of {machine} is known in '{region}'",
                fetch,
                self._misspelt(region, regions),
            )
        if not region and len(regions) > 1:
            raise InputError(
                f"{machine} has a price in {len(regions)} regions; "
                f"name one, as {next(iter(regions.values())).name}: {', '.join(regions)}"
            )
        return regions[region or next(iter(regions))]

    def provisioned(self, serverless: str) -> tuple[Price | None, Price | None]:
        """Of an instance that is kept ready, and of its work, each None where it is not known."""
        by_name = {price.name: price for price in self.prices}
        ready, work = provisioned_names(serverless)
        return by_name.get(ready), by_name.get(work)

    def cheapest(self, machine: str, region: str | None, purchase: Purchase) -> Price:
        """The price of `provider/sku` in a region, or where it is cheapest when none is named."""
        if region or "@" in machine:
            return self.named(f"{machine}@{region}" if region else machine)
        sold = [
            (amount, place)
            for place, price in enumerate(self.prices)
            if _machine_name(price) == machine and (amount := price.amount(purchase)) is not None
        ]
        return self.prices[min(sold)[1]] if sold else self.named(machine)

    def _misspelt(self, region: str, known: Iterable[str]) -> str:
        """The region that may be meant; a name that exists somewhere is no misspelling."""
        exists = AWS_REGION.fullmatch(region) or region in {price.region for price in self.prices}
        near = get_close_matches(region, known, n=1, cutoff=REGION_SIMILARITY)
        return f"did you mean '{near[0]}'?" if near and not exists else ""

    def _hint(self, machine: str) -> str:
        near = get_close_matches(machine, {_machine_name(price) for price in self.prices}, n=1)
        if near:
            return f"did you mean '{near[0]}'?"
        provider, slash, _ = machine.partition("/")
        providers = {price.provider for price in self.prices}
        if not slash or provider not in providers:
            return f"it is written as provider/sku, with one of {', '.join(sorted(providers))}"
        return f"`prumo price list --provider {provider}` shows what is known"


def provisioned_names(serverless: str) -> tuple[str, str]:
    """The prices that provisioned concurrency has beside that of a serverless endpoint.

    >>> provisioned_names("sagemaker/serverless-2gb@us-east-1")[0]
    'sagemaker/serverless-2gb-provisioned@us-east-1'
    """
    endpoint, _, region = serverless.partition("@")
    return f"{endpoint}-provisioned@{region}", f"{endpoint}-provisioned-work@{region}"


def own_folder() -> Path:
    """Where the user's own prices are."""
    return cache_folder() / PRICES


def own_prices() -> list[Price]:
    """What the user has brought so far."""
    return [price for file in sorted(own_folder().glob("*.csv")) for price in _read(file)]


def keep(prices: Iterable[Price]) -> list[Path]:
    """Add prices to the user's own; of one name and date the new one stays."""
    fresh: dict[Path, list[Price]] = {}
    folder = made_folder(PRICES)
    for price in prices:
        fresh.setdefault(folder / f"{price.provider}.csv", []).append(price)
    with reserved(PRICES, title="the list of your own prices", before_waiting=lambda: None):
        for file, added in fresh.items():
            kept = {(price.name, price.as_of): price for price in (*_read(file), *added)}
            try:
                write_whole(file, table_text(kept.values()))
            except OSError as error:
                raise cache_error(error) from error
    return list(fresh)


def _read(file: Path) -> list[Price]:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return list(read_table(lines, str(file)))
    except FileNotFoundError:
        return []
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file}: is no table of prices: {error}; fix or delete it") from error


def shipped_prices() -> list[Price]:
    """The prices that came with this version of Prumo."""
    folder = files("prumo.money").joinpath("catalogs")
    return [
        price
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        for price in read_table(file.read_text(encoding="utf-8").splitlines(), file.name)
    ]


def newest(prices: Iterable[Price]) -> tuple[Price, ...]:
    """Of each name the price with the latest date, and of one date the last given."""
    kept: dict[str, Price] = {}
    for price in prices:
        # A price without a date is older than any that has one.
        if (price.as_of or date.min) >= (kept.get(price.name, price).as_of or date.min):
            kept[price.name] = price
    return tuple(sorted(kept.values(), key=lambda price: (price.provider, price.sku, price.region)))


def _machine_name(price: Price) -> str:
    return f"{price.provider}/{price.sku}"


@dataclass(frozen=True)
class Search:
    """What a price must have; what is left out is not asked for."""

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
    gpus = {price.accelerator for price in prices if price.accelerator}
    if not any(_is_gpu(gpu, search.gpu) for gpu in gpus):
        _check_word("GPU", search.gpu, gpus)
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
