"""Designs choose combinations of levels: always some of the full space, each once, in order."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prumo.study import StudyError, plan_of, scenario_count
from support.study_factory import command_study

if TYPE_CHECKING:
    from prumo.study import Study
    from support.study_factory import StudyMaker

Factors = dict[str, list[Any]]

TWO_LEVELS: Factors = {name: ["-", "+"] for name in "abcd"}


def combinations(study: Study) -> list[tuple[Any, ...]]:
    return [tuple(scenario.factors.values()) for scenario in study.scenarios()]


def make(factors: Factors, design: Any, **sections: Any) -> Study:
    workload = {"kind": "command", "command": ["true"]}
    return command_study(workload=workload, factors=factors, design=design, **sections)


def refusal(factors: Factors, design: Any, **sections: Any) -> str:
    with pytest.raises(StudyError) as caught:
        list(make(factors, design, **sections).scenarios())
    return str(caught.value)


def test_a_fraction_generates_the_last_factor_from_all_others() -> None:
    study = make(TWO_LEVELS, "fractional")
    signs = [[{"-": 0, "+": 1}[level] for level in row] for row in combinations(study)]

    assert len(signs) == 8
    assert all(row[3] == sum(row[:3]) % 2 for row in signs)
    assert plan_of(study).remarks == ("resolution IV",)


def test_a_fraction_with_three_levels_and_a_generated_factor_in_the_middle() -> None:
    factors = {name: [0, 1, 2] for name in "abc"}
    study = make(factors, {"kind": "fractional", "generators": {"b": ["a", "c"]}})
    rows = combinations(study)

    assert len(rows) == scenario_count(study) == 9
    assert all(b == (a + c) % 3 for a, b, c in rows)
    assert rows == sorted(rows)
    assert plan_of(study).remarks == ("resolution III",)


def test_two_generators_with_the_same_sources_have_resolution_two() -> None:
    generators = {"c": ["a", "b"], "d": ["a", "b"]}
    study = make(TWO_LEVELS, {"kind": "fractional", "generators": generators})

    assert len(combinations(study)) == 4
    assert "resolution II:" in plan_of(study).remarks[0]


def test_the_classic_seven_factor_fraction_has_resolution_four() -> None:
    factors = {name: [-1, 1] for name in "abcdefg"}
    generators = {"e": ["a", "b", "c"], "f": ["b", "c", "d"], "g": ["a", "c", "d"]}
    study = make(factors, {"kind": "fractional", "generators": generators})

    assert len(combinations(study)) == 16
    assert plan_of(study).remarks == ("resolution IV",)


def test_a_fraction_of_a_single_combination_has_no_resolution() -> None:
    study = make({"a": [1], "b": [1]}, "fractional")

    assert combinations(study) == [(1, 1)]
    assert plan_of(study).remarks == ()


@pytest.mark.parametrize(
    ("factors", "generators", "words"),
    [
        ({"a": [1, 2], "b": [1, 2, 3]}, {}, "equal numbers of levels, not b 3, a 2"),
        ({"a": [1, 2]}, {}, "two factors or more"),
        (TWO_LEVELS, {"e": ["a"]}, "no such factor 'e'"),
        (TWO_LEVELS, {"d": ["a", "x"]}, "no such factor 'x'"),
        (TWO_LEVELS, {"d": ["c"], "c": ["a"]}, "'c' is generated itself"),
        (TWO_LEVELS, {"d": ["d"]}, "'d' is generated itself"),
        (TWO_LEVELS, {"d": ["a", "a"]}, "twice"),
        (TWO_LEVELS, {"d": []}, "should not be empty"),
    ],
)
def test_impossible_generators_are_refused(
    factors: Factors, generators: dict[str, list[str]], words: str
) -> None:
    assert words in refusal(factors, {"kind": "fractional", "generators": generators})


def test_one_at_a_time_varies_around_the_base() -> None:
    factors: Factors = {"a": [1, 2, 3], "b": ["x", "y"]}

    assert combinations(make(factors, "one_at_a_time")) == [(1, "x"), (1, "y"), (2, "x"), (3, "x")]
    assert combinations(make(factors, {"kind": "one_at_a_time", "base": {"a": 2, "b": "y"}})) == [
        (1, "y"),
        (2, "x"),
        (2, "y"),
        (3, "y"),
    ]


def test_a_base_that_is_not_there_is_refused() -> None:
    factors = {"a": [1, 2]}

    assert "base.z: no such factor" in refusal(factors, {"kind": "one_at_a_time", "base": {"z": 1}})
    assert "9 is not a level of a" in refusal(factors, {"kind": "one_at_a_time", "base": {"a": 9}})


def test_a_random_design_draws_from_an_enormous_space() -> None:
    factors = {name: list(range(100)) for name in "abcdef"}
    rows = combinations(make(factors, {"kind": "random", "size": 20, "seed": 7}))

    assert len(set(rows)) == 20
    assert rows == sorted(rows)
    assert rows == combinations(make(factors, {"kind": "random", "size": 20, "seed": 7}))
    assert rows != combinations(make(factors, {"kind": "random", "size": 20, "seed": 8}))


def test_a_random_design_draws_only_what_the_rules_allow() -> None:
    small = {"a": list(range(10)), "b": list(range(10))}
    large = {name: list(range(100)) for name in "abc"}
    design = {"kind": "random", "size": 20}

    assert all(a < 3 for a, _ in combinations(make(small, design, only=["a < 3"])))
    assert all(a < 3 for a, *_ in combinations(make(large, design, only=["a < 3"])))
    assert "the rules leave 10 combinations, not 20" in refusal(small, design, only=["a == 3"])


def test_a_latin_hypercube_uses_every_level_equally_often() -> None:
    factors: Factors = {"a": [1, 2, 3, 4], "b": [1, 2], "c": ["x", "y", "z"]}
    rows = combinations(make(factors, {"kind": "latin_hypercube", "size": 12, "seed": 3}))

    assert len(set(rows)) == 12
    for column, levels in zip(zip(*rows, strict=True), factors.values(), strict=True):
        assert Counter(column) == dict.fromkeys(levels, 12 // len(levels))


def test_a_latin_hypercube_can_fill_the_space_and_obeys_rules() -> None:
    factors = {"a": [1, 2, 3], "b": [1, 2]}
    full = make(factors, {"kind": "latin_hypercube", "size": 6})
    ruled = make(factors, {"kind": "latin_hypercube", "size": 3}, exclude=["a == 1 and b == 1"])

    assert combinations(full) == list(product([1, 2, 3], [1, 2]))
    assert (1, 1) not in combinations(ruled)


def test_a_latin_hypercube_that_no_rule_permits_is_refused() -> None:
    factors = {"a": [1, 2], "b": [1, 2]}
    design = {"kind": "latin_hypercube", "size": 2}

    assert "found no Latin hypercube of 2" in refusal(factors, design, only=["a == 1"])


def test_a_million_scenarios_are_planned_one_at_a_time(command: StudyMaker) -> None:
    study = command(factors={name: list(range(10)) for name in "abcdef"})
    tracemalloc.start()

    count = scenario_count(study)
    last = next(islice(study.scenarios(), 49_999, None))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 1_000_000
    assert last.name == "C50000"
    assert peak_bytes < 1_000_000


def test_a_million_scenarios_with_rules_are_counted_without_listing_them(
    command: StudyMaker,
) -> None:
    factors = {name: list(range(10)) for name in "abcdef"}

    assert scenario_count(command(factors=factors, exclude=["a == 3", "b > a"])) == 510_000


LEVELS = st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True)
FACTORS = st.lists(LEVELS, min_size=1, max_size=4).map(
    lambda levels: dict(zip("abcd", levels, strict=False))
)
RULES = st.lists(st.sampled_from(["a > 3", "a == 1", {"a": 2}, "a in [0, 5, 9]"]), max_size=2)


@settings(deadline=None, max_examples=60)
@given(
    FACTORS,
    st.sampled_from(["full", "fractional", "one_at_a_time", "random", "latin_hypercube"]),
    st.integers(1, 12),
    RULES,
)
def test_every_design_lists_distinct_combinations_of_the_space_in_order(
    factors: dict[str, list[int]], kind: str, size: int, exclude: list[Any]
) -> None:
    sized = kind in {"random", "latin_hypercube"}
    design = {"kind": kind, "size": size} if sized else kind
    try:
        study = make(factors, design, exclude=exclude)
        rows = combinations(study)
    except StudyError:
        assume(False)
    full = list(product(*factors.values()))

    assert [row for row in full if row in set(rows)] == rows
    assert len(rows) == scenario_count(study) > 0
    if sized:
        assert len(rows) == size
