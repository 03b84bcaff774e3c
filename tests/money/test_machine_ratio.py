"""Machines compared over the same work: the published mistake cannot be said."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from prumo.money.cost import priced
from prumo.money.difference import Aspect, machine_ratios
from prumo.report.cost_sentences import ratio_message
from prumo.study import CostSettings
from support.priced_runs import rate, runs_of

CPU, GPU = rate(0.169, sku="cpu"), rate(0.526, sku="gpu")
RUNS = 5


def _published(noise: float = 0.01) -> pl.DataFrame:
    """Two networks on two machines: the GPU ten times faster, at 3.1 times the price."""
    random = np.random.default_rng(2024)
    seconds = {
        name: (mean * np.exp(random.normal(0, noise, RUNS))).tolist()
        for name, mean in {"C1": 4000, "C2": 9000, "C3": 400, "C4": 900}.items()
    }
    runs = runs_of(
        seconds,
        environment=["cpu"] * 2 * RUNS + ["gpu"] * 2 * RUNS,
        network=(["rede1"] * RUNS + ["rede2"] * RUNS) * 2,
    )
    return priced(runs, {"C1": CPU, "C2": CPU, "C3": GPU, "C4": GPU}, CostSettings())


def test_a_gpu_ten_times_faster_at_three_times_the_price_costs_three_times_less() -> None:
    (ratio,) = machine_ratios(_published(), ["environment", "network"], "cost_usd", Aspect.COST)

    assert str(ratio_message(ratio)) == (
        "On average over 2 pairs of scenarios alike but for the machine: gpu costs 3.2 times less "
        "than cpu; the chance that this is truly so is more than 99.9 %."
    )


def test_the_time_is_compared_over_the_same_pairs() -> None:
    (ratio,) = machine_ratios(
        _published(), ["environment", "network"], "train_seconds", Aspect.TIME
    )

    assert (ratio.pairs, ratio.difference.one) == (2, "gpu")
    assert 1 / ratio.difference.one_mean == pytest.approx(10, rel=0.05)


def test_machines_that_the_runs_do_not_tell_apart_are_not_ranked() -> None:
    runs = runs_of(
        {"C1": [90.0, 110.0, 95.0], "C2": [92.0, 112.0, 93.0]},
        machine=["a", "a", "a", "b", "b", "b"],
    )
    (ratio,) = machine_ratios(runs, ["machine"], "train_seconds", Aspect.TIME)

    assert "no clear difference" in str(ratio_message(ratio))


def test_an_average_that_does_not_hold_everywhere_says_so() -> None:
    # As measured behind serverless endpoints: more memory pays for the large network alone.
    runs = runs_of(
        {"C1": [9.5, 9.6], "C2": [37.6, 37.7], "C3": [14.4, 14.5], "C4": [34.4, 34.5]},
        machine=["1gb"] * 4 + ["2gb"] * 4,
        model=["mobilenet", "mobilenet", "vgg19", "vgg19"] * 2,
    )
    (ratio,) = machine_ratios(runs, ["machine", "model"], "train_seconds", Aspect.COST)
    said = str(ratio_message(ratio))

    assert "1gb costs 15.0 % less than 2gb" in said
    assert said.endswith("In 1 of them it is the other way round.")


def test_only_the_same_work_makes_a_pair() -> None:
    runs = runs_of(
        {"C1": [1.0, 1.1], "C2": [2.0, 2.1]},
        machine=["a", "a", "b", "b"],
        network=["small", "small", "large", "large"],
    )

    assert machine_ratios(runs, ["machine", "network"], "train_seconds", Aspect.TIME) == []


def test_a_study_of_one_machine_has_nothing_to_compare() -> None:
    assert machine_ratios(runs_of({"C1": [1.0]}), [], "train_seconds", Aspect.TIME) == []


def test_amounts_of_nothing_make_no_ratio() -> None:
    runs = runs_of({"C1": [1.0, 2.0], "C2": [9.0, 8.0]}, machine=["a", "a", "b", "b"])
    table = runs.with_columns(pl.Series("cost_usd", [0.0, 0.0, 1.0, 1.0]))

    assert machine_ratios(table, ["machine"], "cost_usd", Aspect.COST) == []
