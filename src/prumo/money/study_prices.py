"""Prices for a study's results: kept when it first runs, and changed only when asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prumo.errors import InputError, did_you_mean
from prumo.money.billing import PURCHASE_WORDS, rate_of
from prumo.money.cost import DATA_BYTES
from prumo.money.kept_prices import (
    EVERY_MACHINE,
    Prices,
    named_prices,
    rates_of,
    read_prices,
    write_prices,
)
from prumo.money.price import Purchase, Unit
from prumo.run.events import Remark
from prumo.study.plan import MACHINE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from prumo.money.billing import Exchange, Rate
    from prumo.results.tables import Results
    from prumo.run.events import Listener
    from prumo.study import Study


def keep_prices(study: Study, results: Path, listener: Listener) -> None:
    """Keep the prices of the machines that a study names, where none are kept yet.

    A price that nobody knows is remarked on: it can be named later, and measuring goes on.
    """
    names = named_prices(study)
    if not names:
        return
    kept = read_prices(results) or Prices(made=_today(), rates={})
    if EVERY_MACHINE in kept.rates:
        return
    missing = {label: name for label, name in names.items() if label not in kept.rates}
    found = {}
    for label, name in missing.items():
        try:
            found[label] = _rate(name, Purchase(study.cost.purchase))
        except InputError as error:
            listener(
                Remark(
                    f"no price for {label}: {error}. `prumo reprice {results} --machine "
                    f"{label}=PRICE` names one at any time."
                )
            )
    if found:
        write_prices(results, kept.model_copy(update={"rates": {**kept.rates, **found}}))


@dataclass(frozen=True)
class Repricing:
    """What is to be changed; nothing at all takes what the study names, as of today."""

    prices: Mapping[str, str] = field(default_factory=dict)
    """Label of a machine, or the empty one for all → the name of its price."""
    purchase: Purchase | None = None
    exchange: Exchange | None = None


def reprice(results: Path, study: Study | None, change: Repricing) -> Prices:
    """Price results anew; what was kept becomes earlier, and what is not changed stays."""
    _require_machines(change.prices, study)
    kept = read_prices(results)
    rates = _changed_rates(study, kept, change)
    if not rates:
        raise InputError(
            f"the study of {results} names no prices; give one, as --price "
            "azure/Standard_F4s_v2@eastus. `prumo price list` shows those that are known."
        )
    prices = (
        Prices(made=_today(), rates=rates, exchange=change.exchange)
        if kept is None
        else kept.repriced(rates, change.exchange or kept.exchange, _today())
    )
    write_prices(results, prices)
    return prices


def asked_rates(
    results: Results, names: Sequence[str], purchase: Purchase | None
) -> dict[str, dict[str, Rate]]:
    """What is asked → scenario → rate; under the empty name the rates that are kept.

    Every price named is put on all scenarios, whatever machine they ran on. A purchase alone puts
    the kept prices as they are known today, bought so.
    """
    if not results.records:
        raise InputError(f"no run has ended in {results.path} yet, so there is nothing to price")
    kept = rates_of(results)
    if names:
        how = purchase or Purchase.ON_DEMAND
        rates = [_rate(name, how) for name in dict.fromkeys(names)]
        _require_usable(rates, results)
        scenarios = dict.fromkeys(record.scenario for record in results.records)
        return {
            f"{rate.price}, {PURCHASE_WORDS[how]}": dict.fromkeys(scenarios, rate) for rate in rates
        }
    if purchase is None:
        return {"": kept}
    if not kept:
        raise InputError(no_prices(results))
    bought = {name: _rate(name, purchase) for name in {rate.price for rate in kept.values()}}
    return {
        PURCHASE_WORDS[purchase]: {scenario: bought[rate.price] for scenario, rate in kept.items()}
    }


def pricing_day(results: Results, *, is_kept: bool) -> date:
    """When prices were put on runs: for those that are kept the day in prices.json, else today."""
    return results.prices.made if is_kept and results.prices is not None else _today()


def no_prices(results: Results) -> str:
    """How to come to prices where a results folder has none."""
    if results.study is not None and named_prices(results.study):
        return (
            f"no prices are kept in {results.path}; `prumo reprice {results.path}` takes those "
            "that the study names from the catalog"
        )
    return (
        f"no prices are kept in {results.path} and its study names none; `prumo reprice "
        f"{results.path} --price azure/Standard_F4s_v2@eastus` keeps one, and --price here only "
        "tries it. `prumo price list` shows those that are known."
    )


def _changed_rates(study: Study | None, kept: Prices | None, change: Repricing) -> dict[str, Rate]:
    usual = Purchase(study.cost.purchase if study is not None else "on_demand")
    named = named_prices(study) if study is not None else {}
    old = kept.rates if kept is not None and change != Repricing() else {}
    if EVERY_MACHINE in change.prices:
        old = {}
    if EVERY_MACHINE in {*change.prices, *old}:
        named = {}
    rates = {
        label: _rate(name, change.purchase or usual)
        for label, name in named.items()
        if label not in old
    }
    for label, rate in old.items():
        is_bought_so = change.purchase in {None, rate.purchase}
        rates[label] = rate if is_bought_so else _rate(rate.price, change.purchase or usual)
    for label, name in change.prices.items():
        rates[label] = _rate(name, change.purchase or usual)
    return rates


def _require_machines(labels: Iterable[str], study: Study | None) -> None:
    if study is None:
        return
    levels = [level for name in MACHINE_NAMES for level in study.factors.get(name, ())]
    known = [*study.machines] or [str(level) for level in levels]
    for label in labels:
        if label != EVERY_MACHINE and label not in known:
            hint = did_you_mean(label, known) or "it has none; use --price"
            raise InputError(f"the study has no machine '{label}': {hint}")


def _require_usable(rates: Iterable[Rate], results: Results) -> None:
    """Refuse a price per GB for runs that do not say how much data they moved."""
    for rate in rates:
        if rate.unit is Unit.GIGABYTE and DATA_BYTES not in results.metrics:
            raise InputError(
                f"{rate.price} is a price per GB of data and not of time, and these runs have no "
                f"`{DATA_BYTES}`; give the price of a machine"
            )


def _rate(name: str, purchase: Purchase) -> Rate:
    # The catalog is read only where a study names prices.
    from prumo.money.catalog import load_catalog  # noqa: PLC0415

    return rate_of(load_catalog().named(name), purchase)


def _today() -> date:
    return datetime.now(UTC).date()
