"""Forecasts of small studies, as `prumo plan --forecast` keeps them."""

from __future__ import annotations

from datetime import UTC, datetime

from prumo.forecast.document import Basis, Forecast, Grounds, ScenarioForecast, Span

MADE = datetime(2026, 11, 15, 12, 0, 0, 500_000, tzinfo=UTC)


def span(value: float, factor: float = 2.0) -> Span:
    return Span(value=value, low=value / factor, high=value * factor)


def forecast_of(*run_seconds: float, replications: int = 2, factor: float = 2.0) -> Forecast:
    """A forecast with one scenario for each time of a run."""
    rows = tuple(
        ScenarioForecast(
            scenario=f"C{number}",
            factors={"batch_size": 2**number},
            basis=Basis.MEASURED,
            replications=replications,
            run_seconds=span(seconds, factor),
            seconds=span(seconds * replications, factor),
        )
        for number, seconds in enumerate(run_seconds, start=1)
    )
    return Forecast(
        study="demo",
        made=MADE,
        prumo="0",
        seconds=span(sum(run_seconds) * replications, factor),
        grounds=Grounds(probe_runs=3, probe_seconds=12.0, probed=("C1", "C2")),
        scenarios=rows,
    )
