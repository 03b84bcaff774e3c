"""Bringing the catalog up to date from public services, one provider after the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.errors import InputError, PrumoError, did_you_mean
from prumo.money.catalog import keep, load_catalog, newest
from prumo.money.lint import Finding, lint
from prumo.money.services import ENDPOINTS, OTHERWISE, USUAL
from prumo.money.services.request import Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date
    from pathlib import Path

    from prumo.money.price import Price
    from prumo.progress import Progress


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


_GOOGLE_SAYS = (
    "gcp: Google's own price list needs an API key, so SkyPilot's catalog is asked, which is "
    "made from it"
)


@dataclass(frozen=True)
class Wish:
    """What is to be updated; what is left out is what the catalog already has."""

    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    skus: tuple[str, ...] = ()
    every_sku: bool = False
    endpoint: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of one provider: prices, or the reason that there are none."""

    provider: str
    intake: Intake | None = None
    failure: str = ""


def update(wish: Wish, progress: Progress, today: date) -> list[Outcome]:
    """Fetch and keep prices; a provider that fails leaves what is known of it as it was."""
    if wish.endpoint and wish.endpoint not in ENDPOINTS:
        hint = did_you_mean(wish.endpoint, ENDPOINTS)
        raise InputError(f"prices cannot be fetched from '{wish.endpoint}'; {hint}")
    outcomes = []
    for provider in _each(wish.providers) or _known_providers():
        try:
            intake = _update_one(provider, wish, progress, today)
        except PrumoError as error:
            outcomes.append(Outcome(provider, failure=str(error)))
        else:
            outcomes.append(Outcome(provider, intake))
    return outcomes


def _update_one(provider: str, wish: Wish, progress: Progress, today: date) -> Intake:
    endpoint = wish.endpoint or USUAL.get(provider, OTHERWISE)
    if provider == "gcp" and not wish.endpoint:
        progress.say(_GOOGLE_SAYS)
    request = _request(provider, wish)
    prices = ENDPOINTS[endpoint](request, progress, today)
    if not prices:
        raise InputError(f"{endpoint} has none of the prices that were asked for")
    missing = set(request.skus) - {price.sku for price in prices}
    if missing:
        regions, skus = ", ".join(request.regions), ", ".join(sorted(missing))
        progress.say(f"{provider}: {endpoint} has no price in {regions} of {skus}")
    return take_in(prices, endpoint, today)


def _request(provider: str, wish: Wish) -> Request:
    known = [price for price in load_catalog().prices if price.provider == provider]
    regions = wish.regions or _each(price.region for price in known)
    skus = wish.skus or _each(price.sku for price in known)
    if not regions:
        raise InputError("nothing of it is in the catalog yet: say --region, and --sku or --all")
    if not skus and not wish.every_sku:
        raise InputError("nothing of it is in the catalog yet: say --sku or --all")
    return Request(provider, regions, () if wish.every_sku else skus)


def _known_providers() -> tuple[str, ...]:
    return _each(price.provider for price in load_catalog().prices)


def _each(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
