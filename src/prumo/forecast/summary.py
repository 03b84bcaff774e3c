"""A simulation as a forecast: spans of time and money by scenario and in all. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from prumo.forecast.document import CONFIDENCE, Basis, Forecast, Grounds, ScenarioForecast, Span
from prumo.study import CostSettings
from prumo.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from prumo.forecast.learned_time import Array
    from prumo.forecast.simulation import Simulation
    from prumo.money.billing import Rate
    from prumo.study import Scenario

MOST_BILLED = 200_000
"""Simulated bills in all: a billing rule is a loop in Python."""


@dataclass(frozen=True)
class Bill:
    """How time becomes money in a study."""

    settings: CostSettings = field(default_factory=CostSettings)
    rates: Mapping[str, Rate] = field(default_factory=dict)
    """Label of a machine → its rate."""

    @property
    def currency(self) -> str:
        """The currency of the forecast: that of the first rate."""
        return next((rate.currency for rate in self.rates.values()), "")

    @property
    def billed(self) -> str:
        """Which of the two forecast times is paid for; a metric of the user's own is neither."""
        if self.settings.setup or self.settings.metric == "wall_seconds":
            return "wall_seconds"
        return "train_seconds" if self.settings.metric in {None, "train_seconds"} else ""

    def rate(self, machine: str) -> Rate | None:
        """The rate of a machine, where its amounts can be added to the others."""
        rate = self.rates.get(machine) or self.rates.get("")
        usable = rate is not None and rate.is_per_time and rate.currency == self.currency
        return rate if usable and self.billed else None

    def amounts(self, rate: Rate, seconds: Array) -> Array:
        """What runs of so many seconds cost."""
        exact = self.settings.rental == "shared"
        used = seconds + self.settings.idle_seconds
        return np.array([rate.cost(float(value), exact=exact) for value in used])


def summarise(  # noqa: PLR0913 (each is another ground)
    study: str,
    scenarios: list[Scenario],
    simulation: Simulation,
    reasons: Mapping[str, str],
    bill: Bill,
    grounds: Grounds,
    made: datetime,
) -> Forecast:
    """The forecast of a study; `reasons` says why a scenario is not in the simulation."""
    columns = {subject.scenario: place for place, subject in enumerate(simulation.subjects)}
    money = _money(simulation, bill)
    totals = simulation.wall_draws * simulation.replication_draws
    rows = []
    for scenario in scenarios:
        place = columns.get(scenario.name)
        if place is None:
            rows.append(_unknown(scenario, reasons.get(scenario.name, "")))
            continue
        replications = float(simulation.replications[place])
        wall_seconds = float(simulation.wall_seconds[place])
        rows.append(
            ScenarioForecast(
                scenario=scenario.name,
                factors=dict(scenario.factors),
                basis=Basis.MEASURED if simulation.measured[place] else Basis.SCALED,
                replications=replications,
                run_seconds=_span(wall_seconds, simulation.wall_draws[:, place]),
                seconds=_span(wall_seconds * replications, totals[:, place]),
                cost=money.span(place),
            )
        )
    expected = float((simulation.wall_seconds * simulation.replications).sum())
    return Forecast(
        study=study,
        made=made,
        prumo=__version__,
        seconds=_span(expected, totals.sum(axis=1)) if columns else None,
        cost=money.total(),
        currency=bill.currency if money.columns else "",
        billed=_told_metric(simulation, bill) if money.columns else "",
        rates=dict(bill.rates),
        grounds=grounds,
        scenarios=tuple(rows),
    )


@dataclass(frozen=True)
class _Money:
    """Expected and simulated amounts of the scenarios that have a rate."""

    expected: Array
    draws: Array
    columns: dict[int, int]
    """Column of the simulation → column of the amounts."""

    def span(self, place: int) -> Span | None:
        if place not in self.columns:
            return None
        column = self.columns[place]
        return _span(float(self.expected[column]), self.draws[:, column])

    def total(self) -> Span | None:
        if not self.columns:
            return None
        return _span(float(self.expected.sum()), self.draws.sum(axis=1))


def _money(simulation: Simulation, bill: Bill) -> _Money:
    rates = [bill.rate(subject.kind.machine) for subject in simulation.subjects]
    places = [place for place, rate in enumerate(rates) if rate is not None]
    is_wall = bill.billed == "wall_seconds"
    expected = simulation.wall_seconds if is_wall else simulation.train_seconds
    draws = simulation.wall_draws if is_wall else simulation.train_draws
    count = min(len(draws), max(1, MOST_BILLED // max(1, len(places))))
    amounts = np.zeros((count, len(places)))
    middle = np.zeros(len(places))
    for column, place in enumerate(places):
        rate = rates[place]
        if rate is None:
            continue
        runs = simulation.replication_draws[:count, place]
        amounts[:, column] = runs * bill.amounts(rate, draws[:count, place])
        middle[column] = (
            simulation.replications[place] * bill.amounts(rate, expected[place : place + 1]).item()
        )
    return _Money(middle, amounts, {place: column for column, place in enumerate(places)})


def _told_metric(simulation: Simulation, bill: Bill) -> str:
    """A program tells no time of training, so that its whole time is paid for."""
    trained = any(subject.work for subject in simulation.subjects)
    return bill.billed if trained else "wall_seconds"


def _unknown(scenario: Scenario, reason: str) -> ScenarioForecast:
    return ScenarioForecast(
        scenario=scenario.name,
        factors=dict(scenario.factors),
        basis=Basis.NOTHING,
        reason=reason,
    )


def _span(value: float, draws: Array) -> Span:
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    # Where a billing rule drops partial minutes, the expected amount can lie at an end.
    return Span(value=value, low=min(value, float(low)), high=max(value, float(high)))
