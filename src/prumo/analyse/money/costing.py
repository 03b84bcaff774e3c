"""Runs with their amounts, and all that these came from. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from prumo.analyse.metric import Kind, in_reading_order, metric_of
from prumo.analyse.money.cost import billed_metric, cost_metric, currencies, priced, rental_remark
from prumo.analyse.money.costing_note import age_notes, core_notes, missing_notes
from prumo.analyse.money.energy import CO2_OF, grids, with_energy
from prumo.analyse.same_computer import same_computers
from prumo.message import Message, counted, listed
from prumo.price.price import Purchase
from prumo.quantity import Quantity
from prumo.results.prices import rates_of
from prumo.study import CostSettings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from prumo.analyse.same_computer import SameComputer
    from prumo.price.exchange import Exchange
    from prumo.price.rate import Rate
    from prumo.results.tables import Results

SPOT = Message(
    "A spot machine can be taken away before a run ends; what a new beginning costs is not counted."
)


@dataclass(frozen=True)
class Costing:
    """A table of runs with what they cost."""

    runs: pl.DataFrame
    rates: Mapping[str, Rate]
    """Scenario → its rate."""
    settings: CostSettings
    exchange: Exchange | None
    same_computers: tuple[SameComputer, ...] = ()
    """Machines that no figure tells apart."""
    notes: tuple[Message, ...] = ()
    """What is missing or doubtful beside the amounts themselves."""
    is_summed: bool = True
    """Whether the runs can be summed up; published means of several cannot."""

    @property
    def time_metric(self) -> str:
        """The time that is paid for."""
        return billed_metric(self.runs, self.settings)

    @property
    def currency(self) -> str | None:
        """What amounts are told in first: the currency of the exchange; None without a price."""
        return next(reversed(currencies(self.rates, self.exchange)), None)

    @property
    def cost_metric(self) -> str | None:
        """The amount that the study is about, in that currency."""
        return cost_metric(self.currency, self.settings) if self.currency else None

    @property
    def metrics(self) -> list[str]:
        """The columns about money, energy and CO2."""
        energies = {*CO2_OF, *CO2_OF.values()}
        return in_reading_order(
            name
            for name in self.runs.columns
            if metric_of(name).kind is Kind.MONEY or name in energies
        )

    def total(self) -> list[Message]:
        """What all runs took and cost together: a plain sum."""
        money = self.cost_metric
        if money is None or self.currency is None or self.settings.of == "inference":
            return []
        paid = self.runs.filter(pl.col("verdict") == "finished").drop_nulls(
            [self.time_metric, money]
        )
        if not self.is_summed or paid.is_empty():
            return []
        return [
            Message(
                "{runs} together took {time} and cost {amount}.",
                {
                    "runs": counted(paid.height, "finished run"),
                    "time": Quantity(float(paid[self.time_metric].sum()), "s"),
                    "amount": Quantity(float(paid[money].sum()), self.currency),
                },
            )
        ]

    def sources(self) -> list[Message]:
        """Every price with its date and source, the exchange, and the CO2 of the grid."""
        exact = self.settings.rental == "shared"
        told = [
            Message("Price: {price}.", {"price": rate.message(exact=exact)})
            for rate in dict.fromkeys(self.rates.values())
        ]
        if self.exchange is not None and self.exchange.base in currencies(self.rates):
            told.append(Message("Exchange: {rate}.", {"rate": self.exchange.message()}))
        if any(name in self.runs.columns for name in CO2_OF.values()):
            told += [
                Message("Grid: {grid}.", {"grid": grid.message()})
                for grid in grids(self.rates, self.settings)
            ]
        return told

    def unpriced(self) -> list[Message]:
        """Which scenarios are not among the amounts, where others are."""
        scenarios = self.runs["scenario"].unique(maintain_order=True).to_list()
        missing = [name for name in scenarios if name not in self.rates]
        if not self.rates or not missing:
            return []
        return [
            Message("Without a price, and so without a cost: {names}.", {"names": listed(missing)})
        ]

    def remarks(self) -> list[Message]:
        """What a reader of the amounts must know."""
        told = [rental_remark(self.runs, self.rates, self.settings)] if self.rates else []
        if self.rates and self.settings.idle_seconds:
            idle = Quantity(self.settings.idle_seconds, "s")
            told.append(Message("Every run is billed {time} of idle time too.", {"time": idle}))
        if (
            self.rates
            and self.exchange is not None
            and self.exchange.base not in currencies(self.rates)
        ):
            told.append(
                Message(
                    "No price is in {base}, so the exchange to {currency} is not used.",
                    {"base": self.exchange.base, "currency": self.exchange.currency},
                )
            )
        if any(rate.purchase is Purchase.SPOT for rate in self.rates.values()):
            told.append(SPOT)
        if self.settings.watts_per_core is not None and "energy_estimate_kwh" in self.runs.columns:
            told.append(
                Message(
                    "Energy is an estimate and not measured: processor time at {watts} per core.",
                    {"watts": Quantity(self.settings.watts_per_core, "W")},
                )
            )
        return [*told, *self.notes]


def costing(
    runs: pl.DataFrame,
    rates: Mapping[str, Rate],
    settings: CostSettings,
    exchange: Exchange | None = None,
) -> Costing:
    """Price runs; without rates only energy is told."""
    with_amounts = priced(runs, rates, settings, exchange)
    return Costing(with_energy(with_amounts, rates, settings), rates, settings, exchange)


def with_notes(costs: Costing, results: Results, day: date) -> Costing:
    """The costing of a results folder with what weakens it; prices were put on it that day."""
    finished = costs.runs.filter(pl.col("verdict") == "finished")
    conditions = results.conditions().join(finished, on="run", how="semi")
    return replace(
        costs,
        same_computers=tuple(same_computers(conditions)),
        notes=(
            *missing_notes(results),
            *core_notes(conditions, costs.rates),
            *age_notes(costs.rates, day),
        ),
        is_summed=not results.spreads,
    )


def kept_costing(results: Results) -> Costing:
    """The runs of a results folder at the prices kept with them."""
    exchange = results.prices.exchange if results.prices is not None else None
    costs = costing(results.runs(), rates_of(results), cost_settings(results), exchange)
    return costs if results.prices is None else with_notes(costs, results, results.prices.made)


def cost_settings(results: Results) -> CostSettings:
    """What of a run is paid for, as the study says."""
    return results.study.cost if results.study is not None else CostSettings()
