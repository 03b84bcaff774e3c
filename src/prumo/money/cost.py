"""What every run costs, as figures like any others. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING

import polars as pl

from prumo.errors import InputError, did_you_mean
from prumo.message import Message, counted, listed
from prumo.money.billing import rule
from prumo.money.energy import CO2_OF, grids, with_energy
from prumo.money.kept_prices import rates_of
from prumo.money.price import Purchase, Unit
from prumo.quantity import Quantity
from prumo.report.cost_notes import age_notes, core_notes, missing_notes
from prumo.statistics.equality import same_computers
from prumo.statistics.metric import Kind, in_reading_order, metric_of
from prumo.study import CostSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date

    from prumo.money.billing import Exchange, Rate
    from prumo.results.tables import Results
    from prumo.statistics.equality import SameComputer


DEFAULT_SETTINGS = CostSettings()
# What a run that answers requests may report of itself.
INFERENCES = "inferences"
DATA_BYTES = "data_bytes"
# As AWS reckons: aws.amazon.com/s3/faqs counts 10 TB as 10,995,116,277,760 bytes.
BYTES_PER_GIGABYTE = 2**30
# Ours: from here on an amount tells more of the billing rule than of the run.
NOTABLE_ROUNDING = 0.1
RENTAL = {
    "shared": "A run pays for its own time as a part of a longer rental, without minimum or "
    "rounding.",
    "own": "A machine is rented for each run alone, so its provider's minimum and rounding count.",
}
OTHER_RENTAL = {
    "shared": "A run pays for its own time as a part of a longer rental, without minimum or "
    "rounding. By its provider's rule for a rental of its own, the amount of {runs} would differ "
    "by more than {percent:.0f} %; `rental: own` in the study or `prumo cost --rental own` tells "
    "it.",
    "own": "A machine is rented for each run alone, so its provider's minimum and rounding count, "
    "which changes the amount of {runs} by more than {percent:.0f} %. With `rental: shared` a run "
    "pays for its own time as a part of a longer rental.",
}


def priced(
    runs: pl.DataFrame,
    rates: Mapping[str, Rate],
    settings: CostSettings = DEFAULT_SETTINGS,
    exchange: Exchange | None = None,
) -> pl.DataFrame:
    """The runs with what each costs: `cost_usd`, `cost_per_epoch_usd` and so on.

    `rates` says the rate of each scenario; a run of another has no amounts. What a run states of
    itself under one of these names stays as it is.
    """
    used = _used(runs, rates, settings)
    exact = settings.rental == "shared"
    columns: dict[str, pl.Series] = {}
    for currency in currencies(rates, exchange):
        amounts = [
            None
            if rate is None or amount is None
            else _in_currency(rate, rate.cost(amount, exact=exact), currency, exchange)
            for rate, amount in zip(_rates(runs, rates), used, strict=True)
        ]
        cost = pl.Series(amounts, dtype=pl.Float64)
        columns |= dict(_figures(runs, cost, currency.lower(), settings))
    return runs.with_columns(
        series.alias(name) for name, series in columns.items() if name not in runs.columns
    )


def currencies(rates: Mapping[str, Rate], exchange: Exchange | None = None) -> list[str]:
    """The currencies that amounts are told in: those of the rates, then that of the exchange."""
    found = dict.fromkeys(rate.currency for rate in rates.values())
    if exchange is not None and exchange.base in found:
        found[exchange.currency] = None
    return list(found)


def cost_metric(currency: str, settings: CostSettings = DEFAULT_SETTINGS) -> str:
    """The name of the amount that a study is about: of a run, or of one answer."""
    kind = "cost_per_inference" if settings.of == "inference" else "cost"
    return f"{kind}_{currency.lower()}"


def billed_metric(runs: pl.DataFrame, settings: CostSettings = DEFAULT_SETTINGS) -> str:
    """Which of a run's times is paid for."""
    if settings.setup:
        return "wall_seconds"
    if settings.metric is not None:
        if settings.metric not in runs.columns or not runs.schema[settings.metric].is_numeric():
            hint = did_you_mean(settings.metric, _times(runs))
            raise InputError(f"no run has a time '{settings.metric}' to be billed: {hint}")
        return settings.metric
    return "train_seconds" if "train_seconds" in runs.columns else "wall_seconds"


def images_metric(runs: pl.DataFrame) -> str | None:
    """The images that a run trained on; a study that varies `images` has that under the name."""
    return next((name for name in ("metric_images", "images") if name in runs.columns), None)


def rental_remark(
    runs: pl.DataFrame, rates: Mapping[str, Rate], settings: CostSettings = DEFAULT_SETTINGS
) -> Message:
    """How runs pay for their machine, and where another rental makes other amounts."""
    changed = sum(
        abs(rule(rate.billing).billed(used) - used) > NOTABLE_ROUNDING * used
        for rate, used in zip(_rates(runs, rates), _used(runs, rates, settings), strict=True)
        if rate is not None and used is not None
    )
    return Message(
        OTHER_RENTAL[settings.rental] if changed else RENTAL[settings.rental],
        {"runs": counted(changed, "run"), "percent": 100 * NOTABLE_ROUNDING},
    )


def _rates(runs: pl.DataFrame, rates: Mapping[str, Rate]) -> Iterator[Rate | None]:
    return (rates.get(scenario) for scenario in runs["scenario"])


def _used(
    runs: pl.DataFrame, rates: Mapping[str, Rate], settings: CostSettings
) -> list[float | None]:
    """What each run used of what its rate is for: seconds, requests or gigabytes."""
    if not rates:
        return [None] * runs.height
    seconds = runs[billed_metric(runs, settings)] + settings.idle_seconds
    requests = _column(runs, INFERENCES, 1.0)
    gigabytes = _column(runs, DATA_BYTES, None) / BYTES_PER_GIGABYTE
    sources = {Unit.REQUEST: requests, Unit.GIGABYTE: gigabytes}
    return [
        None if rate is None else _usable(sources.get(rate.unit, seconds)[place])
        for place, rate in enumerate(_rates(runs, rates))
    ]


def _figures(
    runs: pl.DataFrame, cost: pl.Series, currency: str, settings: CostSettings
) -> Iterator[tuple[str, pl.Series]]:
    """The amount of every run by what a reader may divide it by."""
    if settings.of == "inference":
        yield f"cost_per_inference_{currency}", _ratio(cost, _column(runs, INFERENCES, 1.0))
        return
    yield f"cost_{currency}", cost
    if {"train_seconds", "seconds_per_epoch"} <= set(runs.columns):
        epochs = _ratio(runs["train_seconds"], runs["seconds_per_epoch"])
        yield f"cost_per_epoch_{currency}", _ratio(cost, epochs)
    if (images := images_metric(runs)) is not None:
        yield f"cost_per_1000_images_{currency}", _ratio(cost * 1000, runs[images])


def _in_currency(
    rate: Rate, amount: float, currency: str, exchange: Exchange | None
) -> float | None:
    if rate.currency == currency:
        return amount
    if exchange is not None and (rate.currency, currency) == (exchange.base, exchange.currency):
        return exchange.of(amount)
    return None


def _ratio(upper: pl.Series, lower: pl.Series) -> pl.Series:
    table = pl.DataFrame({"upper": upper, "lower": lower})
    whole = pl.when(pl.col("lower") > 0).then(pl.col("lower"))
    return table.select(pl.col("upper") / whole).to_series()


def _column(runs: pl.DataFrame, name: str, default: float | None) -> pl.Series:
    if name in runs.columns and runs.schema[name].is_numeric():
        return runs[name].cast(pl.Float64)
    return pl.Series(name, [default] * runs.height, pl.Float64)


def _usable(used: float | None) -> float | None:
    return used if used is not None and isfinite(used) and used >= 0 else None


def _times(runs: pl.DataFrame) -> list[str]:
    return [name for name in runs.columns if name.endswith("seconds")]


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
