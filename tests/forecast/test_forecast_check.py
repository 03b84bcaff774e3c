"""Forecast against fact."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from prumo.forecast.document import forecast_against_fact
from prumo.money.study_prices import Prices, write_prices
from prumo.report.forecast import check_sentences
from prumo.results.tables import Results
from support.forecast_maker import forecast_of, span
from support.priced_runs import rate
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path

    from prumo.forecast.document import Forecast

AFTER, BEFORE = "2026-11-15T12:00:00+00:00", "2026-11-15T11:59:59+00:00"


def _results(path: Path, *runs: tuple[int, int, float, dict[str, Any]]) -> Results:
    factory = ResultFactory(path / "demo", samples=2)
    for number, replication, seconds, record in runs:
        factory.run(
            number, replication, {}, **{"wall_seconds": seconds, "started": AFTER, **record}
        )
    return Results(path / "demo")


def test_each_scenario_is_compared_by_the_mean_of_its_runs(tmp_path: Path) -> None:
    results = _results(tmp_path, (1, 1, 9.0, {}), (1, 2, 11.0, {}), (2, 1, 90.0, {}))

    table = forecast_against_fact(forecast_of(10.0, 40.0), results)

    assert table["scenario"].to_list() == ["C1", "C2"]
    assert table["fact_seconds"].to_list() == [10.0, 90.0]
    assert table["inside"].to_list() == [True, False]


def test_the_total_is_compared_once_all_runs_are_there(tmp_path: Path) -> None:
    runs = [(number, run, 30.0, dict[str, Any]()) for number in (1, 2) for run in (1, 2)]

    table = forecast_against_fact(forecast_of(10.0, 40.0), _results(tmp_path, *runs))

    assert table.select(pl.exclude("^.*(cost|currency)$")).row(-1, named=True) == {
        "scenario": "total",
        "runs": 4,
        "forecast_seconds": 100.0,
        "low_seconds": 50.0,
        "high_seconds": 200.0,
        "fact_seconds": 120.0,
        "inside": True,
    }


def test_runs_from_before_the_forecast_prove_nothing(tmp_path: Path) -> None:
    results = _results(tmp_path, (1, 1, 10.0, {"started": BEFORE}))

    assert forecast_against_fact(forecast_of(10.0), results).is_empty()


def test_failed_runs_prove_nothing(tmp_path: Path) -> None:
    results = _results(tmp_path, (1, 1, 10.0, {"verdict": "crashed"}))

    assert forecast_against_fact(forecast_of(10.0), results).is_empty()
    assert check_sentences(forecast_against_fact(forecast_of(10.0), results)) == []


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        (12.0, "All runs took 12 s; the forecast was 10 s [5, 20]."),
        (30.0, "All runs took 30 s, outside of the interval of the forecast, 10 s [5, 20]."),
    ],
)
def test_the_outcome_is_told_in_sentences(tmp_path: Path, fact: float, said: str) -> None:
    results = _results(tmp_path, (1, 1, fact, {}))

    first, second = check_sentences(
        forecast_against_fact(forecast_of(10.0, replications=1), results)
    )

    assert str(first).startswith("In 1 of 1 scenario" if fact == 12 else "In 0 of 1 scenario")
    assert str(second) == said


@pytest.mark.parametrize(
    ("forecast_amount", "said"),
    [
        (3.0, "They cost $4.00; the forecast was $3.00 [1.50, 6.00]."),
        (1.0, "They cost $4.00, outside of the interval of the forecast, $1.00 [0.50, 2.00]."),
    ],
)
def test_money_is_compared_as_well(tmp_path: Path, forecast_amount: float, said: str) -> None:
    two_hours = {"metrics": {"train_seconds": 7200.0}}
    results = _results(tmp_path, (1, 1, 10.0, two_hours))
    write_prices(results.path, Prices(made=date(2026, 11, 14), rates={"": rate(2.0)}))

    told = check_sentences(forecast_against_fact(_priced(forecast_amount, 2.0), results))

    assert str(told[-1]) == said


def test_money_at_other_prices_than_forecast_is_not_compared(tmp_path: Path) -> None:
    results = _results(tmp_path, (1, 1, 10.0, {}))
    write_prices(results.path, Prices(made=date(2026, 11, 14), rates={"": rate(2.0)}))

    table = forecast_against_fact(_priced(3.0, 9.0), results)

    assert table.row(-1, named=True)["fact_cost"] is None


def _priced(amount: float, per_hour: float) -> Forecast:
    return forecast_of(10.0, replications=1).model_copy(
        update={"cost": span(amount), "currency": "USD", "rates": {"": rate(per_hour)}}
    )
