"""The forecast that is kept with results, and how it compares with what came true."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl
from pydantic import BaseModel

from prumo.errors import StorageError
from prumo.files import write_json
from prumo.money.billing import Rate
from prumo.money.cost import cost_settings, priced
from prumo.money.study_prices import rates_of, read_prices
from prumo.results.record import RunRecord, Verdict, read_kept

if TYPE_CHECKING:
    from prumo.results.tables import Results


FORECAST_FILE = "forecast.json"
FORMAT = 1
CONFIDENCE = 0.95


class Basis(StrEnum):
    """What the forecast of a scenario rests on."""

    MEASURED = "measured"
    """Runs of this very scenario, perhaps shorter ones."""
    SCALED = "scaled"
    """Runs of other scenarios of its kind, scaled by its sizes."""
    NOTHING = "nothing"


class Span(BaseModel, frozen=True):
    """A forecast value and the ends of its prediction interval."""

    value: float
    low: float
    high: float


class ScenarioForecast(BaseModel, frozen=True):
    """What is expected of one scenario."""

    scenario: str
    factors: dict[str, Any]
    basis: Basis
    reason: str = ""
    """Why there is no forecast."""
    replications: float = 0.0
    run_seconds: Span | None = None
    """Of the process of one run, on the mean of all its runs."""
    seconds: Span | None = None
    """Of all its runs together."""
    cost: Span | None = None
    """Of all its runs together."""


class Grounds(BaseModel, frozen=True):
    """What a forecast was made from."""

    probe_runs: int = 0
    """Short runs that were made for the forecast."""
    probe_seconds: float = 0.0
    probed: tuple[str, ...] = ()
    """The scenarios that were probed."""
    left_out: dict[str, str] = {}
    """Scenario → why its probe was left out or gave nothing."""
    earlier_runs: int = 0
    earlier: tuple[str, ...] = ()
    """The results folders that these are from."""
    pressure_percent: float = 0.0
    """Of the time before the measured runs, in which processes waited for a core."""


class Forecast(BaseModel, frozen=True):
    """What is expected of a study, when that was said, and what it was said from."""

    format: int = FORMAT
    study: str
    made: datetime
    prumo: str
    confidence: float = CONFIDENCE
    seconds: Span | None = None
    """Of all runs of the scenarios that could be forecast."""
    cost: Span | None = None
    currency: str = ""
    billed: str = ""
    """Which seconds of a run are paid for."""
    rates: dict[str, Rate] = {}
    """Label of a machine → the rate that its time was turned into money with."""
    grounds: Grounds = Grounds()
    scenarios: tuple[ScenarioForecast, ...] = ()

    @property
    def unknown(self) -> tuple[ScenarioForecast, ...]:
        """The scenarios that could not be forecast."""
        return tuple(row for row in self.scenarios if row.basis is Basis.NOTHING)


def read_forecast(results: Path) -> Forecast | None:
    """The forecast in a results folder; None where nobody made one."""
    advice = "Move the file away to go on without the forecast."
    return read_kept(results / FORECAST_FILE, Forecast, advice)


def expected_seconds(results: Path) -> dict[str, float]:
    """How long a run of each scenario should take; nothing where no forecast can be read."""
    try:
        forecast = read_forecast(results)
    except StorageError:
        return {}
    rows = forecast.scenarios if forecast else ()
    return {row.scenario: row.run_seconds.value for row in rows if row.run_seconds}


def write_forecast(results: Path, forecast: Forecast) -> None:
    """Keep a forecast in a results folder, which is made if need be."""
    path = results / FORECAST_FILE
    try:
        results.mkdir(parents=True, exist_ok=True)
        write_json(path, forecast)
    except OSError as error:
        raise StorageError.on_writing(path, error) from error


TOTAL = "total"
COMPARED = ("forecast", "low", "high", "fact")
COLUMNS: dict[str, pl.DataType] = {
    "scenario": pl.String(),
    "runs": pl.Int64(),
    **{f"{name}_seconds": pl.Float64() for name in COMPARED},
    "inside": pl.Boolean(),
    "currency": pl.String(),
    **{f"{name}_cost": pl.Float64() for name in COMPARED},
}


def forecast_against_fact(forecast: Forecast, results: Results) -> pl.DataFrame:
    """Per scenario the mean time of a run as it was forecast, its interval, and what came true.

    Only finished runs that began after the forecast count. Once every scenario that was forecast
    has as many as were expected, a last row compares the time of them all, and their money where
    the prices are still those of the forecast.
    """
    facts = _facts(forecast, results)
    rows = [
        _row(row.scenario, len(own), row.run_seconds, fmean(own))
        for row in forecast.scenarios
        if row.run_seconds is not None and (own := facts.get(row.scenario))
    ]
    if forecast.seconds is not None and _is_complete(forecast, facts):
        whole = [seconds for own in facts.values() for seconds in own]
        total = _row(TOTAL, len(whole), forecast.seconds, sum(whole))
        rows.append(total | _money(forecast, results))
    return pl.DataFrame(rows, schema=COLUMNS)


def _facts(forecast: Forecast, results: Results) -> dict[str, list[float]]:
    facts: dict[str, list[float]] = {}
    for record in results.records:
        if record.wall_seconds is not None and _counts(record, forecast):
            facts.setdefault(record.scenario, []).append(record.wall_seconds)
    return facts


def _counts(record: RunRecord, forecast: Forecast) -> bool:
    """Whether a run can prove a forecast: it finished, and began after it."""
    if record.verdict is not Verdict.FINISHED or not record.started:
        return False
    # Records count whole seconds.
    return datetime.fromisoformat(record.started) >= forecast.made.replace(microsecond=0)


def _money(forecast: Forecast, results: Results) -> dict[str, Any]:
    """What all runs cost against what was forecast; nothing where other prices were put on them."""
    prices, span = read_prices(results.path), forecast.cost
    if span is None or prices is None or prices.rates != forecast.rates:
        return {}
    runs = priced(results.runs(), rates_of(results), cost_settings(results))
    metric = f"cost_{forecast.currency.lower()}"
    if metric not in runs.columns:
        return {}
    counting = [record.run for record in results.records if _counts(record, forecast)]
    cost = float(runs.filter(pl.col("run").is_in(counting))[metric].sum())
    return {"currency": forecast.currency, **_compared("cost", span, cost)}


def _is_complete(forecast: Forecast, facts: dict[str, list[float]]) -> bool:
    known = [row for row in forecast.scenarios if row.run_seconds is not None]
    return all(len(facts.get(row.scenario, ())) >= int(row.replications) for row in known) and {
        *facts
    } <= {row.scenario for row in known}


def _row(scenario: str, runs: int, span: Span, fact: float) -> dict[str, Any]:
    is_inside = span.low <= fact <= span.high
    seconds = _compared("seconds", span, fact)
    return {"scenario": scenario, "runs": runs, "inside": is_inside, **seconds}


def _compared(what: str, span: Span, fact: float) -> dict[str, float]:
    values = (span.value, span.low, span.high, fact)
    return {f"{name}_{what}": value for name, value in zip(COMPARED, values, strict=True)}
