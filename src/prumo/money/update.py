"""Taking prices into the user's own catalog: from files, and from public services by provider."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import InputError, PrumoError
from prumo.money.catalog import keep, load_catalog, newest
from prumo.money.lint import Finding, lint
from prumo.money.sources import default_source, find_fetching_source
from prumo.money.sources.documents import Request

if TYPE_CHECKING:
    from prumo.money.price import Price
    from prumo.progress import Progress


@dataclass(frozen=True)
class Intake:
    """What became of prices that were imported or fetched."""

    place: str
    """Where they came from: files, or the name of a source."""
    kept: tuple[Price, ...]
    """Empty where no price was usable."""
    left_out: tuple[Finding, ...]
    """Why rows were of no use; one finding for each reason."""
    files: tuple[Path, ...]
    """Where they are kept now."""


def take_in(prices: Sequence[Price], place: str, today: date) -> Intake:
    """Keep the usable prices; where there is none, nothing changes."""
    useless = tuple(finding for finding in lint(prices, today) if finding.problem.spoils)
    names = {id(finding.price) for finding in useless}
    usable = newest(price for price in prices if id(price) not in names)
    described = _described(usable) if usable else ()
    return Intake(place, described, useless, tuple(keep(described)) if usable else ())


def _described(prices: Sequence[Price]) -> tuple[Price, ...]:
    """Providers' own lists say little about machines: what is known of a SKU is filled in."""
    known = {
        (price.provider, price.sku): price
        for price in load_catalog().prices
        if price.vcpus or price.accelerator
    }
    described = []
    for price in prices:
        same = known.get((price.provider, price.sku), price)
        names = [name for name in ("vcpus", "memory_gib") if getattr(price, name) is None]
        if not price.accelerator and same.accelerator:
            names += ["accelerator", "accelerator_count"]
        filled = {name: getattr(same, name) for name in names}
        described.append(price.model_copy(update=filled))
    return tuple(described)


@dataclass(frozen=True)
class UpdateRequest:
    """What is to be updated; what is left out is what the catalog already has."""

    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    skus: tuple[str, ...] = ()
    every_sku: bool = False
    source: str = ""
    """Whom to ask; empty for the default of each provider."""


@dataclass(frozen=True)
class Outcome:
    """What came of one provider: prices, or the reason that there are none."""

    provider: str
    intake: Intake | None = None
    failure: str = ""


def update(request: UpdateRequest, progress: Progress, today: date) -> list[Outcome]:
    """Fetch and keep prices; a provider that fails leaves what is known of it as it was."""
    if request.source:
        find_fetching_source(request.source)
    outcomes = []
    providers = request.providers or [price.provider for price in load_catalog().prices]
    for provider in _each(providers):
        try:
            outcomes.append(Outcome(provider, _update_one(provider, request, progress, today)))
        except PrumoError as error:
            outcomes.append(Outcome(provider, failure=str(error)))
    return outcomes


def _update_one(provider: str, request: UpdateRequest, progress: Progress, today: date) -> Intake:
    source = request.source or default_source(provider)
    if provider == "gcp" and not request.source:
        progress.say(
            "gcp: Google's own price list needs an API key, so SkyPilot's catalog is asked, which "
            "is made from it"
        )
    known = [price for price in load_catalog().prices if price.provider == provider]
    regions = request.regions or _each(price.region for price in known)
    skus = request.skus or _each(price.sku for price in known)
    if not regions:
        raise InputError("nothing of it is in the catalog yet: add --region, and --sku or --all")
    if not skus and not request.every_sku:
        raise InputError("nothing of it is in the catalog yet: say --sku or --all")
    asked = Request(provider, regions, () if request.every_sku else skus)
    prices = find_fetching_source(source).fetch(asked, progress, today)
    if not prices:
        raise InputError(f"{source} has none of the prices that were asked for")
    missing = set(asked.skus) - {price.sku for price in prices}
    if missing:
        places, names = ", ".join(regions), ", ".join(sorted(missing))
        progress.say(f"{provider}: {source} has no price in {places} of {names}")
    return take_in(prices, source, today)


def _each(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
