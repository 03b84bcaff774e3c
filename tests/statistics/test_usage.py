from __future__ import annotations

import polars as pl
import pytest

from prumo.results.run_files import SPANS, usage_in_spans
from prumo.statistics.training import resources_of, usage_by_scenario

RUNS = pl.DataFrame(
    {
        "run": ["C1-r1", "C1-r2", "C2-r1"],
        "scenario": ["C1", "C1", "C2"],
        "verdict": ["finished", "finished", "crashed"],
    }
)
CPU = {"CPU": ["cpu_percent"]}


def test_a_scenarios_use_is_the_mean_of_its_runs_with_the_band_between_them() -> None:
    usage = usage_by_scenario(_over_time({"C1-r1": (100, 40), "C1-r2": (200, 60)}), RUNS, CPU)

    assert usage.height == SPANS
    assert usage["mean"].to_list() == [50.0] * SPANS
    assert (usage["low"].unique().to_list(), usage["high"].unique().to_list()) == ([40.0], [60.0])
    assert usage["runs"].unique().to_list() == [2]
    # The spans are parts of runs of 100 and of 200 seconds.
    assert usage["seconds"].max() == pytest.approx(150, rel=0.02)


def test_runs_with_few_samples_are_shown_in_as_many_spans() -> None:
    usage = usage_by_scenario(_over_time({"C1-r1": (9, 40), "C1-r2": (300, 60)}), RUNS, CPU)

    assert usage["runs"].to_list() == [2] * 10
    assert usage["mean"].to_list() == [50.0] * 10


def test_failed_runs_and_machines_without_samples_show_nothing() -> None:
    over_time = _over_time({"C2-r1": (100, 40)})

    assert usage_by_scenario(over_time, RUNS, CPU).is_empty()
    assert usage_by_scenario(over_time, RUNS, {}).is_empty()


def test_the_gpus_of_a_machine_count_together() -> None:
    columns = ["seconds", "memory_percent", "gpu0_percent", "gpu1_percent", "gpu0_memory_percent"]

    found = resources_of([*columns, "tree_cpu_percent", "gpu0_power_watts"])

    assert found == {
        "memory": ["memory_percent"],
        "GPU": ["gpu0_percent", "gpu1_percent"],
        "GPU memory": ["gpu0_memory_percent"],
    }


def _over_time(runs: dict[str, tuple[int, float]]) -> pl.DataFrame:
    """A sample every second, all alike."""
    return pl.concat(
        usage_in_spans(
            pl.DataFrame(
                {"seconds": [float(second) for second in range(seconds + 1)]}
            ).with_columns(cpu_percent=pl.lit(float(percent)))
        ).with_columns(run=pl.lit(run))
        for run, (seconds, percent) in runs.items()
    )
