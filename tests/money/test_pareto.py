"""The front of time and money, and what the runs tell about it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from prumo.money.pareto import Standing, dominated, pareto
from prumo.report.cost_sentences import pareto_sentences
from support.priced_runs import runs_of

SHARP = {
    "slow and cheap": [100.0, 101.0, 99.0],
    "fast and dear": [10.0, 10.1, 9.9],
    "slow and dear": [90.0, 91.0, 89.0],
}
COSTS = [1.0, 1.01, 0.99, 5.0, 5.05, 4.95, 9.0, 9.1, 8.9]


def test_the_front_is_where_no_other_is_both_faster_and_cheaper() -> None:
    points = pareto(runs_of(SHARP, cost=COSTS), "train_seconds", "cost")

    assert [point.on_front for point in points] == [True, True, False]
    assert [point.standing for point in points] == [
        Standing.FRONT,
        Standing.FRONT,
        Standing.DOMINATED,
    ]
    assert [str(sentence) for sentence in pareto_sentences(points)] == [
        (
            "By their means, no other that does the same work is both faster and cheaper than "
            "slow and cheap, fast and dear."
        ),
        "Clearly neither faster nor cheaper than another that does the same work: slow and dear.",
    ]


def test_runs_that_overlap_leave_it_open() -> None:
    runs = runs_of({"C1": [8.0, 10.0, 12.0], "C2": [8.5, 10.5, 12.5]}, cost=[8, 10, 12, 9, 11, 13])
    points = pareto(runs, "train_seconds", "cost")

    assert [point.on_front for point in points] == [True, False]
    assert {point.standing for point in points} == {Standing.OPEN}
    assert "cannot show whether some other is both faster and cheaper than C2" in str(
        pareto_sentences(points)[-1]
    )


def test_of_a_single_run_nothing_is_sure() -> None:
    runs = runs_of({"C1": [1.0], "C2": [5.0, 5.1]}, cost=[1.0, 5.0, 5.1])
    first, second = pareto(runs, "train_seconds", "cost")

    assert (first.chance_dominated, first.standing) == (None, Standing.OPEN)
    assert (second.on_front, second.standing) == (False, Standing.OPEN)


def test_another_work_has_a_front_of_its_own() -> None:
    runs = runs_of(
        {"C1": [1.0, 1.1], "C2": [9.0, 9.1]},
        cost=[1.0, 1.1, 9.0, 9.1],
        network=["small", "small", "large", "large"],
    )

    assert [point.on_front for point in pareto(runs, "train_seconds", "cost")] == [True, False]
    assert [point.on_front for point in pareto(runs, "train_seconds", "cost", ["network"])] == [
        True,
        True,
    ]


def test_without_prices_there_is_no_front() -> None:
    runs = runs_of({"C1": [1.0]}, cost=[None])

    assert pareto(runs, "train_seconds", "cost") == []
    assert pareto_sentences([]) == []


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=7))
def test_domination_is_found_as_by_comparing_all_pairs(points: list[tuple[int, int]]) -> None:
    table = np.array(points, dtype=np.float64)
    expected = [any(a <= c and b <= d and (a, b) != (c, d) for a, b in points) for c, d in points]

    assert dominated(table[None, :, 0], table[None, :, 1])[0].tolist() == expected
