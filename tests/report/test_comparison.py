from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from prumo.errors import InputError
from prumo.report.comparison_sentences import (
    comparison_remarks,
    comparison_sentences,
    level_name,
    ratio_digits,
    verdict_word,
)
from prumo.statistics.comparison import Verdict, cliffs_delta, compare, holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.statistics.comparison import Comparison

FACTORS = ["framework", "batch_size"]
NOISE = [0.97, 1.0, 1.02, 1.01, 0.99]


def test_levels_are_compared_within_equal_other_levels() -> None:
    # Over all runs the two look alike: each has the faster batch size more often.
    runs = table(
        {("a", 1): [1.0, 1.1], ("a", 2): [9.0, 9.1], ("b", 1): [2.0, 2.1], ("b", 2): [18.0, 18.3]}
    )
    (pair,) = compare(runs, FACTORS, "framework", "train_seconds").pairs

    assert [matched.levels for matched in pair.matched] == [{"batch_size": 1}, {"batch_size": 2}]
    assert pair.ratio is not None
    assert pair.ratio.value == pytest.approx(
        stats.gmean([1.0, 1.1, 9.0, 9.1]) / stats.gmean([2.0, 2.1, 18.0, 18.3])
    )


def test_a_level_that_takes_twice_as_long_is_surely_slower() -> None:
    found = compare(
        scaled({"pytorch": 1.0, "tensorflow": 2.0}), FACTORS, "framework", "train_seconds"
    )
    (pair,) = found.pairs

    assert pair.verdict is Verdict.LOWER
    assert pair.count(Verdict.LOWER) == 3
    assert all(matched.cliffs_delta == -1 for matched in pair.matched)
    (sentence,) = comparison_sentences(found)
    assert str(sentence).startswith("pytorch is 2")
    assert (
        "times as fast as tensorflow, on average over 3 combinations: clearly faster in 3"
        in str(sentence)
    )


def test_the_faster_level_is_named_first_whichever_comes_first() -> None:
    runs = scaled({"slow": 3.0, "fast": 1.0})

    assert said(compare(runs, FACTORS, "framework", "train_seconds")).startswith("fast is 3")
    rates = runs.with_columns(images_per_second=1 / pl.col("train_seconds"))
    assert said(compare(rates, FACTORS, "framework", "images_per_second")).startswith("fast is 3")


def test_money_is_told_as_money_and_memory_as_an_amount() -> None:
    runs = scaled({"one": 1.0, "two": 2.0})
    cost = compare(runs.rename({"train_seconds": "cost_usd"}), FACTORS, "framework", "cost_usd")
    memory = compare(
        runs.rename({"train_seconds": "max_rss_bytes"}), FACTORS, "framework", "max_rss_bytes"
    )

    assert said(cost).startswith("two costs 2")
    assert "clearly more expensive in 3" in said(cost)
    assert "with two it is 2" in said(memory)


def test_levels_that_overlap_are_not_told_apart_and_never_called_equal() -> None:
    runs = scaled({"one": 1.0, "two": 1.0})
    found = compare(runs, FACTORS, "framework", "train_seconds")

    assert found.pairs[0].verdict is Verdict.NOT_TOLD_APART
    assert said(found).startswith("These runs cannot show whether")
    assert "equal" not in said(found)


def test_combinations_that_contradict_each_other_are_counted() -> None:
    runs = table(
        {
            ("a", 1): times(1.0),
            ("b", 1): times(2.0),
            ("a", 2): times(2.0),
            ("b", 2): times(1.0),
            ("a", 3): times(1.0),
            ("b", 3): times(1.6),
        }
    )
    sentence = said(compare(runs, FACTORS, "framework", "train_seconds"))

    assert "clearly faster in 2, clearly slower in 1" in sentence
    assert "from 0.500 to 2 times in single ones" in sentence


def test_a_single_run_is_too_few() -> None:
    found = compare(
        table({("a", 1): [1.0], ("b", 1): [3.0]}), FACTORS, "framework", "train_seconds"
    )

    assert found.pairs[0].verdict is Verdict.TOO_FEW_RUNS
    assert found.pairs[0].matched[0].adjusted_p is None
    assert said(found) == "Too few runs to be sure: a seems 3 times as fast as b."
    assert not any("interval" in str(remark) for remark in comparison_remarks(found))


def test_single_runs_in_many_combinations_are_compared_as_pairs() -> None:
    runs = table(
        {
            (level, batch): [batch * (1.0 + 0.1 * (level == "b")) * shift]
            for (level, batch), shift in zip(
                product("ab", range(1, 6)), NOISE + NOISE[::-1], strict=True
            )
        }
    )
    found = compare(runs, FACTORS, "framework", "train_seconds")

    assert found.pairs[0].verdict is Verdict.LOWER
    assert found.pairs[0].count(Verdict.TOO_FEW_RUNS) == 5
    assert any("ran once" in str(remark) for remark in comparison_remarks(found))


def test_combinations_without_a_partner_are_left_out_and_told() -> None:
    runs = table({("a", 1): times(1.0), ("b", 1): times(2.0), ("a", 2): times(1.0)})
    found = compare(runs, FACTORS, "framework", "train_seconds")

    assert found.pairs[0].unmatched == 1
    assert any("1 comparison of two levels" in str(remark) for remark in comparison_remarks(found))


def test_what_is_left_out_is_counted_as_comparisons() -> None:
    cells = {(level, batch): times(1.0) for level, batch in product("ab", (1, 2))}
    found = compare(table({**cells, ("c", 1): times(1.0)}), FACTORS, "framework", "train_seconds")

    # At batch size 2, c stands neither against a nor against b.
    assert any("2 comparisons" in str(remark) for remark in comparison_remarks(found))


def test_levels_that_never_meet_are_told_as_such() -> None:
    found = compare(
        table({("a", 1): times(1.0), ("b", 2): times(2.0)}), FACTORS, "framework", "train_seconds"
    )

    assert found.pairs[0].ratio is None
    assert "no common combination" in said(found)


def test_a_number_is_named_with_its_factor() -> None:
    runs = table({("a", 1): times(1.0), ("a", 2): times(2.0)})

    assert said(compare(runs, FACTORS, "batch_size", "train_seconds")).startswith(
        "batch_size 1 is 2"
    )


@pytest.mark.parametrize(
    ("level", "name"),
    [("1e-05", "rate 1e-05"), ("-1", "rate -1"), ("true", "rate true"), ("sgd2", "sgd2")],
)
def test_a_level_is_named_with_its_factor_where_it_says_nothing_alone(
    level: str, name: str
) -> None:
    assert level_name("rate", level) == name


def test_every_pair_is_compared_or_each_with_one() -> None:
    runs = scaled({"a": 1.0, "b": 2.0, "c": 3.0})

    def pairs(**options: Any) -> list[tuple[str, str]]:
        found = compare(runs, FACTORS, "framework", "train_seconds", **options)
        return [(pair.level, pair.other) for pair in found.pairs]

    assert pairs() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs(against="b") == [("a", "b"), ("c", "b")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"factor": "framwork"}, "did you mean 'framework'"),
        ({"factor": "framework", "against": "pytorh"}, "did you mean 'pytorch'"),
        ({"factor": "batch_size", "metric": "zero"}, "not above zero in 30 of 30 runs"),
        ({"factor": "only"}, "only x has figures"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_reason(
    options: dict[str, str], words: str
) -> None:
    runs = scaled({"pytorch": 1.0, "jax": 2.0}).with_columns(only=pl.lit("x"), zero=pl.lit(0.0))

    with pytest.raises(InputError, match=words):
        compare(runs, [*FACTORS, "only"], **{"metric": "train_seconds", **options})  # type: ignore[arg-type] # names are those of strings


def test_intervals_by_the_bootstrap_need_runs_enough_and_change_no_verdict() -> None:
    many = table({("a", 1): times(1.0) * 3, ("b", 1): times(2.0) * 3})
    found = compare(many, FACTORS, "framework", "train_seconds", bootstrap=True)
    few = compare(
        scaled({"a": 1.0, "b": 2.0}), FACTORS, "framework", "train_seconds", bootstrap=True
    )

    ratio = found.pairs[0].matched[0].ratio
    assert ratio.low is not None
    assert ratio.low < 0.5
    assert few.pairs[0].matched[0].ratio.low is None
    assert few.pairs[0].verdict is Verdict.LOWER


def test_p_values_are_corrected_as_statsmodels_does_after_holm() -> None:
    source = np.random.default_rng(6)
    for count in (1, 2, 7, 40):
        p_values = [*source.uniform(0, 0.1, count), 0.02, 0.02]
        assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_cliffs_delta_is_that_of_the_rank_test() -> None:
    one, other = [1.0, 3.0, 5.0, 7.0], [2.0, 3.0, 4.0]
    u = stats.mannwhitneyu(one, other).statistic

    assert cliffs_delta(one, other) == pytest.approx(2 * u / 12 - 1)


def test_a_tiny_ratio_is_shown_with_digits_enough_to_differ_from_one() -> None:
    assert [ratio_digits(ratio) for ratio in (1.5, 1.004, 0.99991, 1 + 1e-12, 1.0)] == [
        3,
        4,
        5,
        9,
        3,
    ]


def test_verdicts_have_words_that_suit_the_metric() -> None:
    assert str(verdict_word("train_seconds", Verdict.LOWER)) == "faster"
    assert str(verdict_word("images_per_second", Verdict.LOWER)) == "slower"
    assert str(verdict_word("cost_brl", Verdict.LOWER)) == "cheaper"
    assert str(verdict_word("loss", Verdict.HIGHER)) == "higher"
    assert str(verdict_word("loss", Verdict.NOT_TOLD_APART)) == "no clear difference"


def test_equal_levels_raise_a_false_alarm_in_at_most_5_of_100_studies() -> None:
    # Three frameworks in two combinations: six tests a study, and three of the whole.
    source = np.random.default_rng(21)
    cells = [(level, batch) for level in "abc" for batch in (1, 2) for _ in range(4)]
    frame = pl.DataFrame(cells, schema=FACTORS, orient="row").with_columns(
        scenario=pl.col("framework") + pl.col("batch_size").cast(pl.String),
        run=pl.lit("C1-r1"),
        verdict=pl.lit("finished"),
    )
    single = overall = 0
    for values in source.lognormal(1, 0.1, size=(1000, len(cells))):
        runs = frame.with_columns(train_seconds=pl.Series(values))
        pairs = compare(runs, FACTORS, "framework", "train_seconds").pairs
        single += any(pair.count(Verdict.NOT_TOLD_APART) < 2 for pair in pairs)
        overall += any(pair.verdict is not Verdict.NOT_TOLD_APART for pair in pairs)

    assert single <= 50
    assert overall <= 50


def times(middle: float) -> list[float]:
    return [middle * shift for shift in NOISE]


def scaled(factors: Mapping[str, float]) -> pl.DataFrame:
    return table(
        {
            (level, batch): times(factor * batch)
            for level, factor in factors.items()
            for batch in (1, 2, 3)
        }
    )


def table(cells: Mapping[tuple[str, int], Sequence[float]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "run": f"C{number}-r{place}",
                "scenario": f"C{number}",
                "framework": level,
                "batch_size": batch,
                "verdict": "finished",
                "train_seconds": value,
            }
            for number, ((level, batch), values) in enumerate(cells.items(), start=1)
            for place, value in enumerate(values, start=1)
        ]
    )


def said(comparison: Comparison) -> str:
    return str(comparison_sentences(comparison)[0])
