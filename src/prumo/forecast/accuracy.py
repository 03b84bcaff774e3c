"""What was forecast against what came true. Pure."""

from __future__ import annotations

from datetime import datetime
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.money.cost import cost_settings, priced
from prumo.money.kept_prices import rates_of
from prumo.results.record import Verdict

if TYPE_CHECKING:
    from prumo.forecast.document import Forecast, Span
    from prumo.results.record import RunRecord
    from prumo.results.tables import Results

TOTAL = "total"
COLUMNS: dict[str, pl.DataType] = {
    "scenario": pl.String(),
    "runs": pl.Int64(),
    "forecast_seconds": pl.Float64(),
    "low_seconds": pl.Float64(),
    "high_seconds": pl.Float64(),
    "fact_seconds": pl.Float64(),
    "inside": pl.Boolean(),
    "currency": pl.String(),
    "forecast_cost": pl.Float64(),
    "low_cost": pl.Float64(),
    "high_cost": pl.Float64(),
    "fact_cost": pl.Float64(),
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
    return _moment(record.started) >= forecast.made.replace(microsecond=0)


def _money(forecast: Forecast, results: Results) -> dict[str, Any]:
    """What all runs cost against what was forecast; nothing where other prices were put on them."""
    prices, span = results.prices, forecast.cost
    if span is None or prices is None or prices.rates != forecast.rates:
        return {}
    runs = priced(results.runs(), rates_of(results), cost_settings(results))
    metric = f"cost_{forecast.currency.lower()}"
    if metric not in runs.columns:
        return {}
    counting = [record.run for record in results.records if _counts(record, forecast)]
    return {
        "currency": forecast.currency,
        "forecast_cost": span.value,
        "low_cost": span.low,
        "high_cost": span.high,
        "fact_cost": float(runs.filter(pl.col("run").is_in(counting))[metric].sum()),
    }


def _is_complete(forecast: Forecast, facts: dict[str, list[float]]) -> bool:
    known = [row for row in forecast.scenarios if row.run_seconds is not None]
    return all(len(facts.get(row.scenario, ())) >= int(row.replications) for row in known) and {
        *facts
    } <= {row.scenario for row in known}


def _row(scenario: str, runs: int, span: Span, fact: float) -> dict[str, Any]:
    return {
        "scenario": scenario,
        "runs": runs,
        "forecast_seconds": span.value,
        "low_seconds": span.low,
        "high_seconds": span.high,
        "fact_seconds": fact,
        "inside": span.holds(fact),
    }


def _moment(started: str) -> datetime:
    return datetime.fromisoformat(started)
