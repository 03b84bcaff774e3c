"""The order of runs guards against a drifting machine, and a seed repeats it."""

from __future__ import annotations

from typing import Literal

import pytest

from prumo.study import Order, Scenario, ordered_runs, round_runs, scenario_name
from support.study_factory import command_study

SCENARIOS = [Scenario(number, {"a": number}, {"a": number}) for number in range(1, 13)]
INTERLEAVED = ["C03-r1", "C06-r1", "C04-r1", "C07-r1", "C10-r1"]
RANDOMIZED = ["C12-r2", "C08-r2", "C01-r3", "C11-r1", "C07-r2"]
Kind = Literal["listed", "randomized", "interleaved"]


def names(kind: Kind, seed: int = 1, replications: int = 3) -> list[str]:
    order = Order(kind=kind, seed=seed)
    return [run.name for run in ordered_runs(SCENARIOS, replications, order)]


def test_listed_runs_finish_one_scenario_before_the_next() -> None:
    assert names("listed")[:4] == ["C01-r1", "C01-r2", "C01-r3", "C02-r1"]


def test_interleaved_runs_give_every_scenario_a_replication_before_the_next_round() -> None:
    runs = names("interleaved")
    rounds = [runs[:12], runs[12:24], runs[24:]]

    for number, round_ in enumerate(rounds, start=1):
        assert sorted(round_) == [f"C{scenario:02d}-r{number}" for scenario in range(1, 13)]
    orders = [[name.partition("-")[0] for name in round_] for round_ in rounds]
    assert orders[0] != orders[1] != orders[2]
    assert orders[0] != sorted(orders[0])


def test_randomized_runs_mix_replications() -> None:
    runs = names("randomized")

    assert sorted(runs) == sorted(names("listed"))
    assert {name[-1] for name in runs[:12]} == {"1", "2", "3"}


@pytest.mark.parametrize("kind", ["listed", "randomized", "interleaved"])
def test_the_same_seed_gives_the_same_order(kind: Kind) -> None:
    assert names(kind, seed=5) == names(kind, seed=5)
    assert (names(kind, seed=5) == names(kind, seed=6)) is (kind == "listed")


def test_an_order_does_not_change_between_versions_of_prumo() -> None:
    assert names("interleaved", replications=1)[:5] == INTERLEAVED
    assert names("randomized")[:5] == RANDOMIZED


def test_a_further_round_is_the_one_that_a_fixed_number_would_have_had() -> None:
    order = Order(kind="interleaved", seed=4)
    all_runs = list(ordered_runs(SCENARIOS, 3, order))

    assert round_runs(SCENARIOS, 3, order) == all_runs[24:]
    assert len(round_runs(SCENARIOS[:5], 4, order)) == 5
    assert [r.name for r in round_runs(SCENARIOS[:2], 4, Order(kind="listed"))] == [
        "C01-r4",
        "C02-r4",
    ]


def test_a_study_names_its_order_with_or_without_a_seed() -> None:
    assert command_study().order == Order(kind="interleaved", seed=1)
    assert command_study(order="listed").order.kind == "listed"
    assert command_study(order={"kind": "randomized", "seed": 9}).order.seed == 9


def test_a_run_names_its_scenario() -> None:
    assert scenario_name("C03-r1") == "C3"
    assert scenario_name("C1234-r10") == "C1234"
