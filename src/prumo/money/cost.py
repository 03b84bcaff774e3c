"""What every run costs, as figures like any others. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from math import isfinite
from typing import TYPE_CHECKING

import polars as pl

from prumo.errors import InputError, did_you_mean
from prumo.money.billing import DATA_BYTES, INFERENCES, Exchange, Rate, rule
from prumo.money.energy import CO2_OF, with_energy
from prumo.money.price import Unit
from prumo.money.study_prices import rates_of, read_prices
from prumo.statistics.equality import SameComputer, same_computers
from prumo.statistics.metric import Kind, in_reading_order, metric_of
from prumo.study import CostSettings

if TYPE_CHECKING:
    from prumo.results.tables import Results


DEFAULT_SETTINGS = CostSettings()
# As AWS reckons: aws.amazon.com/s3/faqs counts 10 TB as 10,995,116,277,760 bytes.
BYTES_PER_GIGABYTE = 2**30
# Ours: from here on an amount says more about the billing rule than about the run.
NOTABLE_ROUNDING = 0.1


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
        amounts: list[float | None] = [None] * runs.height
        for place, (rate, amount) in used.items():
            paid = rate.cost(amount, exact=exact)
            if rate.currency == currency:
                amounts[place] = paid
            elif exchange and (rate.currency, currency) == (exchange.base, exchange.currency):
                amounts[place] = exchange.of(paid)
        cost = pl.Series(amounts, dtype=pl.Float64)
        columns |= dict(_figures(runs, cost, currency.lower(), settings))
    return runs.with_columns(
        series.alias(name) for name, series in columns.items() if name not in runs.columns
    )


def currencies(rates: Mapping[str, Rate], exchange: Exchange | None = None) -> list[str]:
    """The currencies of the amounts: those of the rates, then that of the exchange."""
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
            times = [name for name in runs.columns if name.endswith("seconds")]
            hint = did_you_mean(settings.metric, times)
            raise InputError(f"no run has a time '{settings.metric}' to be billed: {hint}")
        return settings.metric
    return "train_seconds" if "train_seconds" in runs.columns else "wall_seconds"


def images_metric(runs: pl.DataFrame) -> str | None:
    """The images that a run trained on; a study that varies `images` has that under the name."""
    return next((name for name in ("metric_images", "images") if name in runs.columns), None)


def rounded_runs(
    runs: pl.DataFrame, rates: Mapping[str, Rate], settings: CostSettings = DEFAULT_SETTINGS
) -> int:
    """How many runs cost notably more or less when each rents its machine alone."""
    return sum(
        abs(rule(rate.billing).billed(used) - used) > NOTABLE_ROUNDING * used
        for rate, used in _used(runs, rates, settings).values()
    )


def _used(
    runs: pl.DataFrame, rates: Mapping[str, Rate], settings: CostSettings
) -> dict[int, tuple[Rate, float]]:
    """Row of a run → its rate, and what it used of that: seconds, requests or gigabytes."""
    if not rates:
        return {}
    seconds = runs[billed_metric(runs, settings)] + settings.idle_seconds
    requests = _column(runs, INFERENCES, 1.0)
    gigabytes = _column(runs, DATA_BYTES, None) / BYTES_PER_GIGABYTE
    sources = {Unit.REQUEST: requests, Unit.GIGABYTE: gigabytes}
    found = {}
    for place, scenario in enumerate(runs["scenario"]):
        rate = rates.get(scenario)
        used = sources.get(rate.unit, seconds)[place] if rate else None
        if rate and used is not None and isfinite(used) and used >= 0:
            found[place] = (rate, used)
    return found


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


def _ratio(upper: pl.Series, lower: pl.Series) -> pl.Series:
    table = pl.DataFrame({"upper": upper, "lower": lower})
    whole = pl.when(pl.col("lower") > 0).then(pl.col("lower"))
    return table.select(pl.col("upper") / whole).to_series()


def _column(runs: pl.DataFrame, name: str, default: float | None) -> pl.Series:
    if name in runs.columns and runs.schema[name].is_numeric():
        return runs[name].cast(pl.Float64)
    return pl.Series(name, [default] * runs.height, pl.Float64)


@dataclass(frozen=True)
class Total:
    """A plain sum over finished runs."""

    runs: int
    seconds: float
    amount: float


@dataclass(frozen=True)
class Costing:
    """A table of runs with what they cost."""

    runs: pl.DataFrame
    rates: Mapping[str, Rate]
    """Scenario → its rate."""
    settings: CostSettings
    exchange: Exchange | None
    results: Results | None = None
    """The folder that the runs are from; None for a bare table."""
    priced_on: date | None = None
    """When the prices were put on the runs."""
    same_computers: tuple[SameComputer, ...] = ()
    """Machines that no figure tells apart."""

    @property
    def time_metric(self) -> str:
        """The time that is paid for."""
        return billed_metric(self.runs, self.settings)

    @property
    def currency(self) -> str | None:
        """The main currency of the amounts: the currency of the exchange; None without a price."""
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

    def total(self) -> Total | None:
        """What all finished runs took and cost; None where there is nothing to sum."""
        money = self.cost_metric
        if money is None or self.settings.of == "inference":
            return None
        paid = self.runs.filter(pl.col("verdict") == "finished").drop_nulls(
            [self.time_metric, money]
        )
        # Published means of several runs cannot be summed up.
        if paid.is_empty() or (self.results is not None and self.results.spreads):
            return None
        return Total(paid.height, float(paid[self.time_metric].sum()), float(paid[money].sum()))

    def unpriced(self) -> list[str]:
        """The scenarios that are not among the amounts, where others are."""
        scenarios = self.runs["scenario"].unique(maintain_order=True).to_list()
        return [name for name in scenarios if name not in self.rates] if self.rates else []


def costing(
    runs: pl.DataFrame,
    rates: Mapping[str, Rate],
    settings: CostSettings,
    exchange: Exchange | None = None,
) -> Costing:
    """Price runs; without rates only energy is known."""
    with_amounts = priced(runs, rates, settings, exchange)
    return Costing(with_energy(with_amounts, rates, settings), rates, settings, exchange)


def in_folder(costs: Costing, results: Results, day: date) -> Costing:
    """The costing with the folder that its runs are from; prices were put on them that day."""
    finished = costs.runs.filter(pl.col("verdict") == "finished")
    conditions = results.conditions().join(finished, on="run", how="semi")
    return replace(
        costs, results=results, priced_on=day, same_computers=tuple(same_computers(conditions))
    )


def kept_costing(results: Results) -> Costing:
    """The runs of a results folder at the prices kept with them."""
    prices = read_prices(results.path)
    exchange = prices.exchange if prices is not None else None
    costs = costing(results.runs(), rates_of(results), cost_settings(results), exchange)
    return costs if prices is None else in_folder(costs, results, prices.made)


def cost_settings(results: Results) -> CostSettings:
    """What of a run is paid for, as the study says, or else its kind of work."""
    study = results.study
    if study is None:
        return CostSettings()
    usual, said = study.workload.billing, study.cost.model_fields_set
    # Set-up is billed by another time, and runs that all failed have none of their own.
    if "setup" in said or usual.get("metric") not in results.runs().columns:
        return study.cost
    return study.cost.model_copy(
        update={key: value for key, value in usual.items() if key not in said}
    )
