from __future__ import annotations

import polars as pl
import pytest

from prumo.analyse.summary import summarise

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


def test_equal_values_have_no_spread_at_all() -> None:
    equal = RUNS.with_columns(train_seconds=pl.lit(0.1))
    row = _row(summarise(equal, ["batch_size"], ["train_seconds"]), "C1")

    assert (row["mean"], row["standard_deviation"]) == (0.1, 0.0)
    assert (row["ci_low"], row["ci_high"]) == (0.1, 0.1)


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
        *("ci_low", "ci_high", "median", "minimum", "maximum"),
    ]


def test_without_finished_runs_the_table_is_empty_and_has_its_columns() -> None:
    failed = RUNS.filter(pl.col("verdict") == "crashed")
    table = summarise(failed, ["batch_size"], ["train_seconds"])

    assert table.is_empty()
    assert table.columns == summarise(RUNS, ["batch_size"], []).columns


def _row(table: pl.DataFrame, scenario: str) -> dict[str, float | None]:
    return table.filter(pl.col("scenario") == scenario).row(0, named=True)
