"""Prices for a study's results: kept when it first runs, and changed only when asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field

from prumo.errors import InputError, StorageError, did_you_mean
from prumo.files import write_json
from prumo.money.billing import DATA_BYTES, Exchange, Rate, rate_of
from prumo.money.price import Purchase, Unit
from prumo.results.record import read_kept
from prumo.study.plan import MACHINE_NAMES

if TYPE_CHECKING:
    from prumo.results.tables import Results
    from prumo.study import Study


PRICES_FILE = "prices.json"
FORMAT = 1
EVERY_MACHINE = ""
"""The label of the rate that holds where a machine has none of its own."""


class PricesKept(BaseModel, frozen=True):
    """Rates by machine as they stood on a day."""

    made: date
    rates: dict[str, Rate]
    """Label of a machine → its rate; the empty label holds for all others."""
    exchange: Exchange | None = None


class Prices(PricesKept, frozen=True):
    """The rates that count, and those that counted before."""

    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)] = FORMAT
    earlier: tuple[PricesKept, ...] = ()
    """The oldest first."""

    def repriced(self, rates: Mapping[str, Rate], exchange: Exchange | None, made: date) -> Prices:
        """Other rates in place of these, which are kept as earlier ones."""
        replaced = PricesKept(made=self.made, rates=self.rates, exchange=self.exchange)
        return Prices(
            made=made, rates=dict(rates), exchange=exchange, earlier=(*self.earlier, replaced)
        )


def named_prices(study: Study) -> dict[str, str]:
    """Label of a machine → the name of its price, where the study names one."""
    return {
        label: machine.price
        for label, machine in study.machines.items()
        if machine.price is not None
    }


def rates_of(results: Results) -> dict[str, Rate]:
    """Scenario → the rate that its runs are priced with; none where there is no price."""
    prices = read_prices(results.path)
    if prices is None:
        return {}
    found = {
        record.scenario: prices.rates.get(machine_label(record.parameters))
        or prices.rates.get(EVERY_MACHINE)
        for record in results.records
    }
    return {scenario: rate for scenario, rate in found.items() if rate is not None}


def machine_label(parameters: Mapping[str, Any]) -> str:
    """The label of the machine that a run's parameters name; empty where they name none."""
    return next((str(parameters[name]) for name in MACHINE_NAMES if name in parameters), "")


def read_prices(results: Path) -> Prices | None:
    """The prices in a results folder; None where nobody priced it.

    Raises:
        StorageError: They are there and cannot be read; amounts shall not change in silence.
    """
    advice = f"Move the file away and run `prumo reprice {results}`."
    return read_kept(results / PRICES_FILE, Prices, advice)


def write_prices(results: Path, prices: Prices) -> None:
    """Keep prices in a results folder."""
    path = results / PRICES_FILE
    try:
        write_json(path, prices)
    except OSError as error:
        raise StorageError.on_writing(path, error) from error


def keep_prices(study: Study, results: Path) -> list[str]:
    """Keep the prices of the machines that a study names, where none are kept yet.

    Returns what to tell the user about prices that nobody knows: they can be named later, and
    measuring goes on.
    """
    names = named_prices(study)
    if not names:
        return []
    kept = read_prices(results) or Prices(made=_today(), rates={})
    found, remarks = {}, []
    for label, name in names.items():
        if label in kept.rates or EVERY_MACHINE in kept.rates:
            continue
        try:
            found[label] = _rate(name, Purchase(study.cost.purchase))
        except InputError as error:
            remarks.append(
                f"no price for {label}: {error}. `prumo reprice {results} --machine "
                f"{label}=PRICE` names one at any time."
            )
    if found:
        write_prices(results, kept.model_copy(update={"rates": {**kept.rates, **found}}))
    return remarks


@dataclass(frozen=True)
class Repricing:
    """What is to be changed; nothing at all takes what the study names, as of today."""

    prices: Mapping[str, str] = field(default_factory=dict)
    """Label of a machine, or the empty one for all → the name of its price."""
    purchase: Purchase | None = None
    exchange: Exchange | None = None


def reprice(results: Path, study: Study | None, change: Repricing) -> Prices:
    """Price results anew; what was kept becomes earlier, and what is not changed stays."""
    if study is not None:
        levels = [str(level) for name in MACHINE_NAMES for level in study.factors.get(name, ())]
        known = [*study.machines] or levels
        for label in change.prices:
            if label not in {EVERY_MACHINE, *known}:
                hint = did_you_mean(label, known) or "it has none; use --price"
                raise InputError(f"the study has no machine '{label}': {hint}")
    kept = read_prices(results)
    rates = _changed_rates(study, kept, change)
    if not rates:
        raise InputError(
            f"the study of {results} names no prices; give one, as --price "
            "azure/Standard_F4s_v2@eastus. `prumo price list` shows those that are known."
        )
    if kept is None:
        prices = Prices(made=_today(), rates=rates, exchange=change.exchange)
    else:
        prices = kept.repriced(rates, change.exchange or kept.exchange, _today())
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
        for rate in rates:
            if rate.unit is Unit.GIGABYTE and DATA_BYTES not in results.metrics:
                raise InputError(
                    f"{rate.price} is a price per GB of data and not of time, and these runs have "
                    f"no `{DATA_BYTES}`; give the price of a machine"
                )
        scenarios = dict.fromkeys(record.scenario for record in results.records)
        return {f"{rate.price}, {how.words}": dict.fromkeys(scenarios, rate) for rate in rates}
    if purchase is None:
        return {"": kept}
    if not kept:
        raise InputError(no_prices(results))
    bought = {name: _rate(name, purchase) for name in {rate.price for rate in kept.values()}}
    return {purchase.words: {scenario: bought[rate.price] for scenario, rate in kept.items()}}


def pricing_day(results: Results, *, is_kept: bool) -> date:
    """When prices were put on runs: for those that are kept the day in prices.json, else today."""
    prices = read_prices(results.path) if is_kept else None
    return prices.made if prices is not None else _today()


def kept_exchange(results: Results) -> Exchange | None:
    """The exchange that is kept with a results folder's prices."""
    prices = read_prices(results.path)
    return prices.exchange if prices is not None else None


def no_prices(results: Results) -> str:
    """How to come to prices where a results folder has none."""
    if results.study is not None and (names := named_prices(results.study)):
        from prumo.money.catalog import NoPriceError, load_catalog  # noqa: PLC0415 (as in _rate)

        try:
            catalog = load_catalog()
            for name in names.values():
                catalog.named(name)
        except NoPriceError as error:
            return f"no prices are kept in {results.path}: {error}; then `prumo reprice` keeps it"
        except InputError:
            pass
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
    is_for_all = EVERY_MACHINE in change.prices
    old = kept.rates if kept is not None and change != Repricing() and not is_for_all else {}
    if is_for_all or EVERY_MACHINE in old:
        named = {}
    names = {label: name for label, name in named.items() if label not in old}
    names |= {label: rate.price for label, rate in old.items()} | dict(change.prices)
    rates = {}
    for label, name in names.items():
        same = None if label in change.prices else old.get(label)
        is_bought_so = same is not None and change.purchase in {None, same.purchase}
        rates[label] = same if same and is_bought_so else _rate(name, change.purchase or usual)
    return rates


def _rate(name: str, purchase: Purchase) -> Rate:
    # The catalog is read only where a study names prices.
    from prumo.money.catalog import load_catalog  # noqa: PLC0415

    return rate_of(load_catalog().named(name), purchase)


def _today() -> date:
    return datetime.now(UTC).date()
