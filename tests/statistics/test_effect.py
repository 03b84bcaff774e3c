from __future__ import annotations

import polars as pl
import pytest
from scipy import stats

from prumo.statistics.interval import mean_interval
from prumo.statistics.summary import is_balanced, main_effects, mean_of_means, summarise

FAST = [10.0, 10.4, 9.7]
SLOW = [20.0, 21.5, 19.0, 20.3]


def test_the_mean_of_one_scenario_has_that_scenarios_interval() -> None:
    summary = summarise(_runs({"C1": (1, "a", FAST)}), ["batch", "kind"], ["seconds"])
    found = mean_of_means(summary, 0.95)

    assert found.half_width == pytest.approx(mean_interval(FAST).half_width)


def test_two_scenarios_have_half_the_width_of_welchs_interval_for_their_difference() -> None:
    runs = _runs({"C1": (1, "a", FAST), "C2": (2, "a", SLOW)})
    found = mean_of_means(summarise(runs, ["batch", "kind"], ["seconds"]), 0.95)
    welch = stats.ttest_ind(FAST, SLOW, equal_var=False).confidence_interval(0.95)

    assert found.mean == pytest.approx((sum(FAST) / 3 + sum(SLOW) / 4) / 2)
    assert found.half_width == pytest.approx((welch.high - welch.low) / 4)


def test_every_level_of_a_varying_factor_gets_the_mean_of_its_scenarios() -> None:
    runs = _runs({"C1": (1, "a", FAST), "C2": (2, "a", SLOW)})
    effects = main_effects(
        summarise(runs, ["batch", "kind"], ["seconds"]), ["batch", "kind"], "seconds"
    )

    assert [(effect.factor, effect.level) for effect in effects] == [("batch", "1"), ("batch", "2")]
    assert effects[1].interval.mean == pytest.approx(sum(SLOW) / 4)


def test_a_single_run_at_a_level_leaves_its_mean_without_an_interval() -> None:
    runs = _runs({"C1": (1, "a", [10.0]), "C2": (2, "a", SLOW)})
    effects = main_effects(summarise(runs, ["batch"], ["seconds"]), ["batch"], "seconds")

    assert effects[0].interval.half_width is None
    assert effects[1].interval.half_width is not None


def test_a_published_mean_below_zero_is_no_amount() -> None:
    published = summarise(_runs({"C1": (1, "a", [-5.0])}), ["batch"], ["seconds"]).with_columns(
        n=3, standard_deviation=1.0, minimum=pl.lit(None, pl.Float64)
    )

    # Minus six, five and four have this mean and this deviation.
    assert mean_of_means(published, 0.95).low == mean_interval([-6.0, -5.0, -4.0]).low


def test_levels_are_told_as_a_study_writes_them() -> None:
    runs = _runs({"C1": (1, "a", FAST), "C2": (2, "a", SLOW)}).with_columns(
        amp=pl.col("batch") == 1
    )
    effects = main_effects(summarise(runs, ["amp"], ["seconds"]), ["amp"], "seconds")

    assert [effect.level for effect in effects] == ["true", "false"]


def test_a_missing_combination_unbalances_a_study() -> None:
    whole = {"C1": (1, "a", FAST), "C2": (1, "b", FAST), "C3": (2, "a", SLOW), "C4": (2, "b", SLOW)}
    factors = ["batch", "kind"]

    assert is_balanced(summarise(_runs(whole), factors, ["seconds"]), factors, "seconds")
    del whole["C4"]
    assert not is_balanced(summarise(_runs(whole), factors, ["seconds"]), factors, "seconds")


def _runs(scenarios: dict[str, tuple[int, str, list[float]]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "scenario": scenario,
                "batch": batch,
                "kind": kind,
                "verdict": "finished",
                "seconds": value,
            }
            for scenario, (batch, kind, values) in scenarios.items()
            for value in values
        ]
    )
