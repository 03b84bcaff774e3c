"""The forecast of a whole study: its runs, their time and their money."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from prumo.datasets.study_data import StudyData
from prumo.errors import InputError, PrumoError
from prumo.forecast.document import (
    COLUMNS,
    Basis,
    Forecast,
    Grounds,
    ScenarioForecast,
    forecast_against_fact,
    read_forecast,
    write_forecast,
)
from prumo.forecast.observation import (
    Kind,
    Observation,
    Subject,
    command_subject,
    observation_of,
    subject_of,
)
from prumo.forecast.probe import Probe, chosen_for_probe, probe
from prumo.forecast.simulation import Simulation, simulate, span_of_draws
from prumo.machine.accelerators import read_gpus
from prumo.machine.cpu import read_cpu
from prumo.money.billing import Rate, rate_of
from prumo.money.catalog import Catalog, load_catalog
from prumo.money.price import Purchase, Unit
from prumo.money.study_prices import named_prices, read_prices
from prumo.results.tables import Results
from prumo.run.events import Listener, ListenerProgress, Remark
from prumo.study import CostSettings, Scenario, Study, Training, plan_of
from prumo.study.workload import Imported
from prumo.version import __version__
from prumo_worker.data import CATALOG

if TYPE_CHECKING:
    from prumo.forecast.learned_time import Array
    from prumo.results.record import RunRecord

MOST_BILLED = 200_000
"""Simulated bills in all: a billing rule is a loop in Python."""

MOST_SCENARIOS = 10_000
NO_CHECK = pl.DataFrame(schema=COLUMNS)
NO_RUNS = "nothing of its kind was measured"


def forecast_study(study: Study, results: Path, sources: Sources, listener: Listener) -> Forecast:
    """Forecast the time and the money of a study; nothing of it is run but the probe."""
    if isinstance(study.workload, Imported):
        raise InputError(f"the runs of {study.name} were made elsewhere: nothing is to be forecast")
    plan = plan_of(study)
    count = plan.scenarios
    if count > MOST_SCENARIOS:
        raise InputError(
            f"{study.name} has {count} scenarios; up to {MOST_SCENARIOS} can be forecast"
        )
    scenarios = list(study.scenarios())
    data = StudyData(study, ListenerProgress(listener))
    subjects = [_subject(study, scenario, data) for scenario in scenarios]
    earlier = _earlier(study, subjects, results, sources.earlier)
    earlier_runs = [taught for own in earlier.values() for taught in own]
    observations = [observation for taught in earlier_runs for observation in taught]
    measured_places = {(observation.kind, observation.place) for observation in observations}
    is_measured = all((subject.kind, subject.place) in measured_places for subject in subjects)
    # Where every scenario was measured, short runs teach nothing more.
    probes = 0 if is_measured and sources.probes is None else sources.probes
    trial = _probed(study, subjects, probes, listener)
    measured = [*observations, *trial.observations]
    grounds = Grounds(
        probe_runs=len(trial.observations),
        probe_seconds=trial.seconds,
        probed=tuple(dict.fromkeys(trial.probed)),
        left_out=dict(trial.left_out),
        earlier_runs=len(earlier_runs),
        earlier=tuple(str(folder) for folder, own in earlier.items() if own),
        pressure_percent=100 * fmean(o.pressure for o in measured) if measured else 0.0,
    )
    return summarise(
        study.name,
        scenarios,
        simulate(subjects, measured),
        {s.scenario: trial.unavailable.get(s.kind, NO_RUNS) for s in subjects},
        Bill(study.cost, _rates(study, results, listener)),
        grounds,
        datetime.now(UTC),
        plan.replications_minimum,
    )


def _subject(study: Study, scenario: Scenario, data: StudyData) -> Subject:
    if not isinstance(study.workload, Training):
        return command_subject(study, scenario)
    parameters = scenario.parameters
    dataset, card = str(parameters["dataset"]), CATALOG.get(str(parameters["dataset"]))
    if card is None or ("only_class" in parameters and dataset in study.data_paths()):
        # Only the files tell how many images there are, of which shape.
        return subject_of(study, scenario, data.shape(parameters), data.images(parameters))
    images = int(parameters.get("images") or card.images)
    return subject_of(study, scenario, (card.channels, card.classes), images)


def _probed(
    study: Study, subjects: Sequence[Subject], most: int | None, listener: Listener
) -> Probe:
    if most == 0:
        return Probe()
    if reason := study.workload.no_probe:
        return Probe(unavailable={subject.kind: reason for subject in subjects})
    return probe(study, chosen_for_probe(subjects, most), listener)


def _earlier(
    study: Study, subjects: Sequence[Subject], results: Path, named: Sequence[Path]
) -> dict[Path, list[list[Observation]]]:
    """What each earlier run teaches: those of this machine, and of devices that it does not have.

    A run teaches about several kinds where the study has several labels for this machine.
    """
    own = [results] if (results / "runs").is_dir() else []
    kinds = list(dict.fromkeys(subject.kind for subject in subjects))
    found: dict[Path, list[list[Observation]]] = {}
    for folder in dict.fromkeys([*named, *own]):
        read = Results(folder)
        runs = [
            _taught(record, read.study, kinds)
            for record in read.records
            if _is_comparable(record, study)
        ]
        found[folder] = [taught for taught in runs if taught]
    return found


def _taught(record: RunRecord, study: Study | None, kinds: Sequence[Kind]) -> list[Observation]:
    """What a run teaches about each kind: a training on this machine under whatever label."""
    observation = observation_of(record, study)
    if observation is None:
        return []
    is_any_label = observation.work is not None and _is_of_this_machine(record.machine)
    return [
        replace(observation, kind=kind)
        for kind in kinds
        if observation.kind
        == (replace(kind, machine=observation.kind.machine) if is_any_label else kind)
    ]


def _is_comparable(record: RunRecord, study: Study) -> bool:
    if record.imported:
        return False
    is_training = isinstance(study.workload, Training)
    if not is_training and (record.study != study.name or {*record.factors} != {*study.factors}):
        return False
    device = record.parameters.get("device")
    is_absent_here = device not in {None, "cpu"} and not read_gpus().devices
    return _is_of_this_machine(record.machine) or is_absent_here


def _is_of_this_machine(facts: Mapping[str, object]) -> bool:
    cpu, gpus = facts.get("cpu"), facts.get("gpus")
    if not isinstance(cpu, dict) or not isinstance(gpus, dict):
        return False
    here = read_cpu()
    names = [device.get("name") for device in gpus.get("devices", [])]
    return (
        cpu.get("model") == here.model
        and cpu.get("usable_cores") == here.usable_cores
        and names == [device.name for device in read_gpus().devices]
    )


def _rates(study: Study, results: Path, listener: Listener) -> dict[str, Rate]:
    """The rates kept with the results, or those of the study's prices in the catalog."""
    if kept := read_prices(results):
        return kept.rates
    names, rates = named_prices(study), {}
    catalog = load_catalog() if names else Catalog(())
    for label, name in names.items():
        try:
            rates[label] = rate_of(catalog.named(name), Purchase(study.cost.purchase))
        except PrumoError as error:
            listener(Remark(f"no money for machine '{label}': {error}"))
    return rates


def outlook(study: Study, results: Path, sources: Sources, listener: Listener) -> Outlook:
    """The forecast of a study, made and kept in its results folder.

    One that is there and that runs were made after is left as it is, to be compared with them.
    """
    kept = read_forecast(results)
    if kept is not None and (results / "runs").is_dir():
        levels = [dict(scenario.factors) for scenario in study.scenarios()]
        is_of_study = [row.factors for row in kept.scenarios] == levels
        if is_of_study and len(check := forecast_against_fact(kept, Results(results))):
            return Outlook(kept, check, is_new=False)
    forecast = forecast_study(study, results, sources, listener)
    write_forecast(results, forecast)
    return Outlook(forecast, NO_CHECK, is_new=True)


@dataclass(frozen=True)
class Sources:
    """What a forecast may be made from."""

    earlier: tuple[Path, ...] = ()
    """Results folders."""
    probes: int | None = None
    """How many scenarios to probe; 0 for none, None to leave it to Prumo."""


@dataclass(frozen=True)
class Outlook:
    """A forecast and, where runs have ended since, what came true of it."""

    forecast: Forecast
    check: pl.DataFrame
    is_new: bool


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
        if rate is None or rate.currency != self.currency or not self.billed:
            return None
        return rate if rate.unit in {Unit.HOUR, Unit.SECOND} else None

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
    replications_minimum: int = 1,
) -> Forecast:
    """The forecast of a study; `reasons` says why a scenario is not in the simulation.

    Such a scenario gets the least replications that the study plans.
    """
    money = _money(simulation, bill)
    totals = simulation.wall_draws * simulation.replication_draws
    known: dict[str, dict[str, Any]] = {}
    for place, subject in enumerate(simulation.subjects):
        replications = float(simulation.replications[place])
        wall_seconds = float(simulation.wall_seconds[place])
        known[subject.scenario] = {
            "basis": Basis.MEASURED if simulation.measured[place] else Basis.SCALED,
            "replications": replications,
            "run_seconds": span_of_draws(wall_seconds, simulation.wall_draws[:, place]),
            "seconds": span_of_draws(wall_seconds * replications, totals[:, place]),
            "cost": span_of_draws(*money[place]) if place in money else None,
        }
    rows = []
    for scenario in scenarios:
        unknown: dict[str, Any] = {
            "basis": Basis.NOTHING,
            "reason": reasons.get(scenario.name, ""),
            "replications": replications_minimum,
        }
        expected = {"factors": dict(scenario.factors), **known.get(scenario.name, unknown)}
        rows.append(ScenarioForecast(scenario=scenario.name, **expected))
    wall_seconds = float((simulation.wall_seconds * simulation.replications).sum())
    forecast = Forecast(
        study=study,
        made=made,
        prumo=__version__,
        seconds=span_of_draws(wall_seconds, totals.sum(axis=1)) if known else None,
        rates=dict(bill.rates),
        grounds=grounds,
        scenarios=tuple(rows),
    )
    if not money:
        return forecast
    amounts, draws = zip(*money.values(), strict=True)
    # A program tells no time of training, so that its whole time is paid for.
    is_training = any(subject.work for subject in simulation.subjects)
    paid = {
        "cost": span_of_draws(sum(amounts), np.sum(draws, axis=0)),
        "currency": bill.currency,
        "billed": bill.billed if is_training else "wall_seconds",
    }
    return forecast.model_copy(update=paid)


def _money(simulation: Simulation, bill: Bill) -> dict[int, tuple[float, Array]]:
    """Expected and simulated amounts of the columns of a simulation that have a rate."""
    machines = [subject.kind.machine for subject in simulation.subjects]
    rates = {place: rate for place, name in enumerate(machines) if (rate := bill.rate(name))}
    is_wall = bill.billed == "wall_seconds"
    expected = simulation.wall_seconds if is_wall else simulation.train_seconds
    draws = simulation.wall_draws if is_wall else simulation.train_draws
    count = max(1, MOST_BILLED // max(1, len(rates)))
    found = {}
    for place, rate in rates.items():
        amount = bill.amounts(rate, expected[place : place + 1]).item()
        amounts = bill.amounts(rate, draws[:count, place])
        runs = simulation.replication_draws[:count, place]
        found[place] = float(simulation.replications[place] * amount), runs * amounts
    return found
