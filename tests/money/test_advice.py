"""Advice: the choice, the runner-up, by how much, how surely, and who misses the limits."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from prumo.money.advice import Advice, Need, advise
from prumo.money.cost import priced
from prumo.money.terms import Strategy
from prumo.report.advice import Wording, advice_sentences
from prumo.study import CostSettings
from support.priced_runs import rate, runs_of

COST, SPEED, BALANCED = Strategy.COST, Strategy.SPEED, Strategy.BALANCED
SECONDS = {
    "cpu": [3600.0, 3650.0, 3550.0, 3620.0],
    "gpu": [360.0, 365.0, 355.0, 362.0],
    "big": [180.0, 182.0, 178.0, 181.0],
}
RATES = {"cpu": rate(0.169), "gpu": rate(0.526), "big": rate(3.0)}


def _priced() -> pl.DataFrame:
    return priced(runs_of(SECONDS), RATES)


def _advise(need: Need, runs: pl.DataFrame | None = None) -> Advice:
    return advise(_priced() if runs is None else runs, "train_seconds", "cost_usd", need)


def _said(advice: Advice) -> list[str]:
    return [str(sentence) for sentence in advice_sentences(advice, Wording({}, "USD"))]


@pytest.mark.parametrize(
    ("strategy", "order"),
    [
        (COST, ["gpu", "big", "cpu"]),
        (SPEED, ["big", "gpu", "cpu"]),
        (BALANCED, ["gpu", "big", "cpu"]),
    ],
)
def test_the_strategy_decides_the_order(strategy: Strategy, order: list[str]) -> None:
    advice = _advise(Need(strategy))

    assert [candidate.scenario for candidate in advice.ranking] == order
    assert advice.chance_best is not None
    assert advice.chance_best > 0.99


def test_balanced_weighs_shares_of_the_largest_cost_and_time_alike() -> None:
    scores = {one.scenario: one.score for one in _advise(Need(BALANCED)).ranking}
    costs = {name: np.mean(times) / 3600 * RATES[name].amount for name, times in SECONDS.items()}
    gpu = 0.5 * costs["gpu"] / costs["cpu"] + 0.5 * np.mean(SECONDS["gpu"]) / 3605

    assert scores["gpu"] == pytest.approx(gpu)
    assert scores["cpu"] == pytest.approx(1.0)


def test_the_gpu_at_three_times_the_price_is_told_to_cost_three_times_less() -> None:
    runs = _priced().filter(pl.col("scenario") != "big")
    said = _said(_advise(Need(COST), runs))

    assert said[0].startswith("The cheapest is gpu: 360.5 s [")
    assert said[1].startswith("The runner-up is cpu: 60.08 min [")
    assert said[2:] == [
        "gpu costs 3.2 times less than cpu; the chance that this is truly so is more than 99.9 %.",
        (
            "gpu takes 10.0 times less time than cpu; the chance that this is truly so is more "
            "than 99.9 %."
        ),
    ]


def test_a_faster_choice_that_costs_more_says_so() -> None:
    said = _said(_advise(Need(SPEED)))

    assert any(one.startswith("big costs 2.9 times as much as gpu") for one in said)
    assert any(one.startswith("big takes 2.0 times less time than gpu") for one in said)


def test_runs_that_do_not_tell_two_apart_lead_to_no_claim() -> None:
    runs = priced(
        runs_of({"C1": [90.0, 110.0, 99.0], "C2": [92.0, 112.0, 100.0]}),
        {"C1": rate(1.0), "C2": rate(1.0)},
    )
    advice = _advise(Need(COST), runs)

    assert advice.choice is not None
    assert advice.choice.scenario == "C1"
    assert advice.runner_up is not None
    assert 0.5 < (advice.runner_up.chance_better or 0) < 0.9
    assert "These runs show no clear difference in cost between C1 and C2" in _said(advice)[2]


def test_limits_leave_out_what_misses_them_and_say_how_surely() -> None:
    advice = _advise(Need(COST, deadline_seconds=200))
    said = _said(advice)

    assert [one.scenario for one in advice.ranking] == ["big"]
    assert advice.keeps_surely
    assert (
        "Its next run meets the deadline of 200 s with a probability of more than 99.9 %." in said
    )
    assert "No other configuration meets the limits as reliably." in said
    assert "Over the deadline of 200 s with at least 95 % probability: gpu, cpu." in said


def test_a_budget_leaves_out_what_is_too_dear() -> None:
    advice = _advise(Need(SPEED, budget=0.1))

    assert [one.scenario for one in advice.ranking] == ["gpu"]
    assert any(
        one.startswith("Over the budget of $0.10") and one.endswith(": big, cpu.")
        for one in _said(advice)
    )


def test_the_surer_choice_comes_before_a_better_one_in_doubt() -> None:
    runs = priced(
        runs_of({"C1": [80.0, 100.0, 90.0, 95.0], "C2": [98.0, 98.1, 97.9, 98.0]}),
        {"C1": rate(1.0), "C2": rate(1.0)},
    )
    advice = _advise(Need(COST, deadline_seconds=99), runs)

    assert advice.choice is not None
    assert advice.choice.scenario == "C2"
    assert any(
        one.startswith("C1 would be better by this measure") and "meeting the limits is only" in one
        for one in _said(advice)
    )
    assert any(one.startswith("May exceed the deadline of 99 s") for one in _said(advice))


def test_a_likely_choice_is_not_called_sure() -> None:
    advice = _advise(Need(COST, deadline_seconds=363, budget=0.06))

    assert advice.choice is not None
    assert not advice.keeps_surely
    assert "No configuration reliably meets the limits." in _said(advice)


def test_where_nothing_keeps_the_limits_the_nearest_is_named() -> None:
    advice = _advise(Need(COST, deadline_seconds=100))

    assert advice.choice is None
    assert _said(advice)[0].startswith(
        "No configuration is likely to meet the limits. The closest is big: 180.2 s"
    )


def test_single_runs_are_ranked_and_nothing_is_called_sure() -> None:
    runs = priced(runs_of({"C1": [10.0], "C2": [20.0]}), {"C1": rate(1.0), "C2": rate(1.0)})
    advice = _advise(Need(COST, deadline_seconds=15), runs)
    said = _said(advice)

    assert advice.choice is not None
    assert (advice.choice.scenario, advice.keeps_surely) == ("C1", False)
    assert "one run cannot show how reliable" in said[1]
    assert said[-1] == "Over the limit in their only run (uncertain): C2."


def test_without_a_price_speed_is_still_answered() -> None:
    advice = advise(runs_of(SECONDS), "train_seconds", None, Need(SPEED))

    assert [one.scenario for one in advice.ranking] == ["big", "gpu", "cpu"]
    assert _said(advice)[0].startswith("The fastest is big: 180.2 s [")
    assert "cost" not in " ".join(_said(advice))


def test_where_money_matters_scenarios_without_a_price_are_left_out_and_named() -> None:
    runs = priced(runs_of(SECONDS), {"cpu": RATES["cpu"], "gpu": RATES["gpu"]})
    advice = _advise(Need(COST), runs)

    assert advice.unpriced == ("big",)
    assert "Left out, as not all of their runs have a cost in USD: big." in _said(advice)
    assert _said(_advise(Need(COST), runs.filter(scenario="big")))[0] == (
        "There is no cost in USD to choose by."
    )
    assert [one.scenario for one in _advise(Need(SPEED), runs).ranking] == ["big", "gpu", "cpu"]


def test_failed_runs_are_nothing_to_choose_from() -> None:
    runs = _priced().with_columns(pl.lit("crashed").alias("verdict"))

    assert _said(_advise(Need(COST), runs)) == ["No scenario has finished runs to choose from."]


@pytest.mark.parametrize(
    ("provider", "tie"),
    [
        ("aws", "Several cost the least alike"),
        ("azure", "Several cost nothing, as each ends before the first minute that is billed"),
    ],
)
def test_amounts_that_the_rule_makes_equal_are_a_tie_that_the_faster_wins(
    provider: str, tie: str
) -> None:
    seconds = {"C1": [50.0, 51.0, 52.0], "C2": [10.0, 11.0, 12.0] * 3, "C3": [40.0, 41.0, 42.0]}
    rates = dict.fromkeys(seconds, rate(6.1, provider=provider))
    advice = _advise(Need(COST), priced(runs_of(seconds), rates, CostSettings(rental="own")))
    said = _said(advice)

    assert [one.scenario for one in advice.ranking] == ["C2", "C3", "C1"]
    assert said[0].startswith(f"{tie}; the fastest of them is C2: ")
    assert "All runs of C2 and C3 cost the same." in said
    assert said[-1] == "The chance that C2 is truly the best of all 3 is more than 99.9 %."


def test_full_ties_are_shared() -> None:
    runs = runs_of({"C1": [5.0, 5.0], "C2": [5.0, 5.0, 5.0]})
    advice = advise(runs, "train_seconds", None, Need(SPEED))

    assert advice.chance_best == 0.5
    assert "All runs of C1 and C2 take the same time." in _said(advice)
