from __future__ import annotations

import polars as pl
import pytest

from prumo.results.record import Spread
from prumo.statistics.summary import summarise

RUNS = pl.DataFrame(
    {
        "run": ["C01-r1", "C01-r2", "C01-r3", "C02-r1", "C02-r2"],
        "scenario": ["C1", "C1", "C1", "C2", "C2"],
        "batch_size": [32, 32, 32, 64, 64],
        "verdict": ["finished", "finished", "finished", "finished", "crashed"],
        "train_seconds": [9.0, 10.0, 11.0, 5.0, None],
        "latency": [1.0, None, 3.0, None, None],
    }
)


def test_statistics_of_a_scenario_are_those_of_its_finished_runs() -> None:
    row = _row(summarise(RUNS, ["batch_size"], ["train_seconds"]), "C1")

    assert (row["n"], row["mean"], row["median"]) == (3, 10.0, 10.0)
    assert (row["minimum"], row["maximum"]) == (9.0, 11.0)
    assert row["standard_deviation"] == pytest.approx(1.0)
    # 4.302653 is Student's t for two degrees of freedom at 95 %.
    assert row["ci_low"] == pytest.approx(10 - 4.302653 / 3**0.5, abs=1e-6)
    assert row["ci_high"] == pytest.approx(10 + 4.302653 / 3**0.5, abs=1e-6)


def test_a_single_run_has_neither_deviation_nor_interval() -> None:
    row = _row(summarise(RUNS, ["batch_size"], ["train_seconds"]), "C2")

    assert (row["n"], row["mean"]) == (1, 5.0)
    assert row["standard_deviation"] is None
    assert row["ci_low"] is None
    assert row["ci_high"] is None


def test_a_published_mean_has_the_interval_that_follows_from_its_spread() -> None:
    spreads = {"C2": {"train_seconds": Spread(n=3, standard_deviation=1.0)}}
    table = summarise(RUNS, ["batch_size"], ["train_seconds"], spreads=spreads)

    row = _row(table, "C2")
    assert (row["n"], row["mean"], row["standard_deviation"]) == (3, 5.0, 1.0)
    assert row["ci_high"] == pytest.approx(5 + 4.302653 / 3**0.5, abs=1e-6)
    assert (row["median"], row["minimum"], row["maximum"]) == (None, None, None)
    assert _row(table, "C1") == _row(summarise(RUNS, ["batch_size"], ["train_seconds"]), "C1")


@pytest.mark.parametrize(
    "spread", [Spread(n=5), Spread(standard_deviation=1.0), Spread(n=1, standard_deviation=1.0)]
)
def test_a_published_mean_without_all_of_its_spread_is_a_single_value(spread: Spread) -> None:
    spreads = {"C2": {"train_seconds": spread}}
    row = _row(summarise(RUNS, ["batch_size"], ["train_seconds"], spreads=spreads), "C2")

    assert (row["n"], row["ci_low"]) == (1, None)


def test_equal_values_have_no_spread_at_all() -> None:
    equal = RUNS.with_columns(train_seconds=pl.lit(0.1))
    row = _row(summarise(equal, ["batch_size"], ["train_seconds"]), "C1")

    assert (row["mean"], row["standard_deviation"]) == (0.1, 0.0)
    assert (row["ci_low"], row["ci_high"]) == (0.1, 0.1)


def test_times_have_no_interval_below_zero_and_what_may_be_negative_has() -> None:
    wild = RUNS.with_columns(
        train_seconds=pl.Series([1.0, 10.0, 25.0, 1.0, 1.0]),
        gain=pl.Series([1.0, 10.0, 25.0, 1.0, 1.0]),
        skew_seconds=pl.Series([-1.0, 10.0, 25.0, 1.0, 1.0]),
    )
    table = summarise(wild, [], ["train_seconds", "gain", "skew_seconds"])
    time, gain, skew = table.filter(pl.col("scenario") == "C1").rows(named=True)

    assert time["ci_low"] == pytest.approx(0.025 * time["mean"])
    assert gain["ci_low"] < 0
    assert skew["ci_low"] < 0
    assert time["ci_high"] == gain["ci_high"]


def test_shares_have_no_interval_above_the_whole_and_sums_over_cores_have() -> None:
    percents = [70.0, 98.0, 99.0, 5.0, None]
    names = ["cpu_percent_mean", "gpu0_percent_mean", "tree_cpu_percent_mean", "own_percent"]
    table = summarise(
        RUNS.with_columns(pl.Series(name, percents) for name in names), ["batch_size"], names
    )
    highs = dict(table.filter(scenario="C1").select("metric", "ci_high").rows())

    assert (highs["cpu_percent_mean"], highs["gpu0_percent_mean"]) == (100.0, 100.0)
    assert highs["tree_cpu_percent_mean"] == highs["own_percent"] > 100


def test_enough_runs_have_a_bootstrap_interval_and_few_have_none() -> None:
    values = [9.0, 9.5, 10.0, 10.5, 11.0, 11.5, 12.0]
    many = pl.DataFrame(
        {"scenario": "C1", "verdict": "finished", "train_seconds": values}, strict=False
    )
    row = _row(summarise(many, [], ["train_seconds"]), "C1")
    few = _row(summarise(many.head(6), [], ["train_seconds"]), "C1")

    assert (row["bootstrap_low"], row["bootstrap_high"]) == pytest.approx((9.5, 11.5), abs=0.3)
    assert (few["bootstrap_low"], few["bootstrap_high"]) == (None, None)


def test_a_metric_that_some_runs_lack_counts_only_the_others() -> None:
    table = summarise(RUNS, ["batch_size"], ["latency"])

    assert table["scenario"].to_list() == ["C1"]
    assert table["n"].to_list() == [2]


def test_rows_come_metric_by_metric_with_levels_and_units() -> None:
    table = summarise(RUNS, ["batch_size"], ["train_seconds", "latency"])

    assert table["metric"].to_list() == ["train_seconds", "train_seconds", "latency"]
    assert table["unit"].to_list() == ["s", "s", ""]
    assert table.columns == [
        *("scenario", "batch_size", "metric", "unit", "n", "mean", "standard_deviation"),
        *("ci_low", "ci_high", "median", "minimum", "maximum", "bootstrap_low", "bootstrap_high"),
    ]


def test_without_finished_runs_the_table_is_empty_and_has_its_columns() -> None:
    failed = RUNS.filter(pl.col("verdict") == "crashed")
    table = summarise(failed, ["batch_size"], ["train_seconds"])

    assert table.is_empty()
    assert table.columns == summarise(RUNS, ["batch_size"], []).columns


def _row(table: pl.DataFrame, scenario: str) -> dict[str, float | None]:
    return table.filter(pl.col("scenario") == scenario).row(0, named=True)
