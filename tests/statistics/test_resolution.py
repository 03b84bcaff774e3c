from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prumo.report.find_warnings import Evidence, message_of
from prumo.report.warnings import WarningKind
from prumo.statistics.outliers import step_of


@given(
    multiples=st.lists(st.integers(1, 10_000), min_size=4, max_size=30),
    power=st.integers(-6, 3),
)
def test_values_that_a_coarse_clock_gave_betray_its_step(multiples: list[int], power: int) -> None:
    found = step_of([multiple * 10.0**power for multiple in multiples])

    assert found is not None
    assert found >= 10.0**power


def test_values_of_a_fine_clock_have_no_step_that_counts() -> None:
    source = np.random.default_rng(1)
    studies = np.round(source.lognormal(1, 1, (1000, 6)), 4)
    coarse = sum((step_of(values) or 0.0) > 1e-3 for values in studies.tolist())

    # Six last digits that happen to be zero, twice over: once in a million times a million.
    assert coarse == 0


def test_too_few_values_betray_nothing() -> None:
    assert step_of([1.0, 2.0, 3.0]) is None
    assert step_of([0.0, 0.0, 0.0, 0.0]) is None


def test_times_far_below_a_second_are_no_multiples_of_a_coarse_step() -> None:
    fine, coarse = [0.000512, 0.000713, 0.000334, 0.000211], [0.0002, 0.0007, 0.0003, 0.0001]

    assert step_of(fine) == pytest.approx(1e-6)
    assert step_of(coarse) == pytest.approx(1e-4)
    assert step_of([value * 1e-4 for value in fine]) is None


def test_times_in_whole_seconds_are_too_coarse_for_short_runs() -> None:
    message = str(message_of(WarningKind.CLOCK_RESOLUTION, _evidence([5.0, 6.0, 5.0, 7.0])))

    assert "train_seconds comes in steps of 1 s, up to 20 % of a mean" in message


def test_times_in_whole_seconds_do_for_runs_of_minutes() -> None:
    assert message_of(WarningKind.CLOCK_RESOLUTION, _evidence([500.0, 601.0, 512.0, 777.0])) is None


def test_a_time_of_a_few_steps_of_the_machines_clock_is_told() -> None:
    message = str(
        message_of(
            WarningKind.CLOCK_RESOLUTION,
            _evidence([0.0512, 0.0613, 0.0547, 0.0721], clock_step=0.0156),
        )
    )

    assert "a train_seconds is only 3.3 steps of the machine's clock" in message


def test_levels_of_a_factor_in_seconds_are_no_measured_times() -> None:
    evidence = _evidence([1.2345, 2.3456, 1.3457, 2.4568])
    runs = evidence.runs.with_columns(sleep_seconds=pl.Series([1.0, 2.0, 1.0, 2.0]))

    assert (
        message_of(
            WarningKind.CLOCK_RESOLUTION, Evidence(runs, evidence.conditions, "train_seconds", 0.95)
        )
        is None
    )


@pytest.mark.parametrize("metric", ["answer_seconds", None])
def test_a_users_own_time_counts_when_the_study_is_about_it(metric: str | None) -> None:
    evidence = _evidence([1.2345, 2.3456, 1.3457, 2.4568])
    runs = evidence.runs.with_columns(answer_seconds=pl.Series([1.0, 2.0, 1.0, 2.0]))
    found = message_of(
        WarningKind.CLOCK_RESOLUTION, Evidence(runs, evidence.conditions, metric, 0.95)
    )

    assert (found is not None) == (metric is not None)


def _evidence(seconds: list[float], clock_step: float | None = 1e-7) -> Evidence:
    names = [f"C{number:02d}-r1" for number in range(1, len(seconds) + 1)]
    runs = pl.DataFrame(
        {
            "run": names,
            "scenario": ["C1", "C2"] * (len(seconds) // 2),
            "verdict": ["finished"] * len(seconds),
            "train_seconds": seconds,
        }
    )
    conditions = runs.select("run", clock_step_seconds=pl.lit(clock_step, pl.Float64))
    return Evidence(runs, conditions, "train_seconds", 0.95)
