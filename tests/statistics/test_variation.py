"""Which shares, tests and remarks an allocation of variation gives for which data."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from prumo.report.sections.variation import variation_remarks, variation_summary
from prumo.statistics.factorial import MOST_TERMS
from prumo.statistics.variation import Source, Variation, check_residuals, variation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Effect = Callable[..., float]

LEVELS: dict[str, list[Any]] = {
    "framework": ["pytorch", "tensorflow"],
    "batch_size": [32, 64, 128],
    "network": ["rede1", "rede2"],
}


def seconds(framework: str, batch_size: int, network: str) -> float:
    return (1.3 if framework == "tensorflow" else 1.0) * (50 / batch_size + len(network))


def test_shares_of_a_whole_study_add_up_to_one_and_come_with_tests() -> None:
    found = variation(study(seconds), list(LEVELS), "train_seconds")

    assert sum(row.share for row in found.rows) == pytest.approx(1)
    assert [len(row.term) for row in found.rows] == [1, 1, 1, 2, 2, 2, 3, 0]
    assert found.rows[-1].source is Source.ERROR
    assert sum(row.degrees_of_freedom for row in found.rows) == 3 * 12 - 1
    assert sum(row.degrees_of_freedom for row in found.rows) == 3 * 12 - 1
    assert found.rows[0].term == ("framework",)
    assert (found.rows[0].p_value or 1) < 0.001
    assert "framework" in str(variation_summary(found))


def test_effects_that_multiply_leave_no_interaction_in_logarithms() -> None:
    def product_of(framework: str, batch_size: int, network: str) -> float:
        return (3 if framework == "pytorch" else 1) * batch_size * len(network + framework)

    names = ["framework", "batch_size"]
    runs = study(product_of, noise=0.001)
    logarithmic = variation(runs, names, "train_seconds", logarithmic=True)
    plain = variation(runs, names, "train_seconds", logarithmic=False)

    assert share(logarithmic, "framework", "batch_size") < 1e-6
    assert share(plain, "framework", "batch_size") > 0.01


def test_times_are_analysed_in_logarithms_and_losses_as_they_are() -> None:
    assert variation(study(seconds), list(LEVELS), "train_seconds").is_logarithmic
    loss = variation(study(seconds, metric="loss"), list(LEVELS), "loss")
    assert not loss.is_logarithmic
    assert said(loss, "as they are")


def test_values_that_are_not_positive_are_analysed_as_they_are_even_if_asked_otherwise() -> None:
    runs = study(lambda **levels: seconds(**levels) - 8)
    found = variation(runs, list(LEVELS), "train_seconds", logarithmic=True)

    assert not found.is_logarithmic
    assert said(found, "not positive")


def test_single_runs_leave_the_largest_interaction_as_error() -> None:
    found = variation(study(seconds, replications=1), list(LEVELS), "train_seconds")

    assert max(len(row.term) for row in found.rows) == 2
    assert found.rows[-1].degrees_of_freedom == 2
    assert found.rows[0].p_value is not None
    assert said(found, "ran once")


def test_one_factor_at_a_time_tells_single_factors_only() -> None:
    def is_base_but_one(levels: Mapping[str, Any]) -> bool:
        return [level == LEVELS[name][0] for name, level in levels.items()].count(False) <= 1

    found = variation(study(seconds, only=is_base_but_one), list(LEVELS), "train_seconds")

    assert [len(row.term) for row in found.rows] == [1, 1, 1, 0]
    assert said(found, "Only effects of single factors")
    assert found.rows[0].p_value is not None


def test_one_factor_at_a_time_without_replications_has_shares_and_no_tests() -> None:
    def is_base_but_one(levels: Mapping[str, Any]) -> bool:
        return [level == LEVELS[name][0] for name, level in levels.items()].count(False) <= 1

    runs = study(seconds, only=is_base_but_one, replications=1)
    found = variation(runs, list(LEVELS), "train_seconds")

    assert [len(row.term) for row in found.rows] == [1, 1, 1]
    assert all(row.f is None for row in found.rows)
    assert said(found, "no tests")


def test_a_fraction_tells_single_factors_only() -> None:
    factors = {name: ["a", "b"] for name in ("one", "two", "three")}

    def is_in_fraction(levels: Mapping[str, Any]) -> bool:
        return list(levels.values()).count("b") % 2 == 0

    runs = study(lambda **_: 1.0, factors=factors, only=is_in_fraction, noise=0.1)
    found = variation(runs, list(factors), "train_seconds")

    assert [len(row.term) for row in found.rows] == [1, 1, 1, 0]
    assert said(found, "fraction")


def test_a_missing_combination_leaves_out_the_interactions_that_need_it() -> None:
    def is_measured(levels: Mapping[str, Any]) -> bool:
        return (levels["network"], levels["batch_size"]) != ("rede2", 32)

    found = variation(study(seconds, only=is_measured), list(LEVELS), "train_seconds")

    terms = {row.term for row in found.rows}
    assert ("framework", "batch_size") in terms
    assert ("framework", "network") in terms
    assert ("batch_size", "network") not in terms
    assert {row.source for row in found.rows} >= {Source.OTHER, Source.ERROR}
    assert said(found, "batch_size \N{MULTIPLICATION SIGN} network")


def test_what_no_term_explains_is_told_where_it_is_large() -> None:
    # Two combinations stand out; their interaction has no row, since a combination is missing.
    factors = {"one": ["a", "b", "c"], "two": ["u", "v", "w"]}

    def together(one: str, two: str) -> float:
        return 5.0 if (one, two) in {("a", "u"), ("b", "v")} else 1.0

    runs = study(together, factors, only=lambda levels: levels != {"one": "c", "two": "w"})
    found = variation(runs, list(factors), "train_seconds")

    assert "% other interactions" in str(variation_summary(found))


def test_factors_that_change_only_together_are_counted_once() -> None:
    runs = study(seconds).with_columns(machine=pl.col("framework").replace("pytorch", "cpu"))
    found = variation(runs, ["framework", "machine"], "train_seconds")

    assert [row.term for row in found.rows] == [("framework",), ()]
    assert said(found, "machine change only together")


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (lambda: study(lambda **_: 2.0, noise=0), "same in every run"),
        (lambda: study(seconds).filter(pl.col("run") == "none"), "no finished run"),
        (lambda: study(seconds).filter(pl.col("framework") == "x"), "no finished run"),
        (lambda: study(seconds).with_columns(verdict=pl.lit("crashed")), "no finished run"),
    ],
)
def test_where_nothing_varies_there_are_no_rows_but_a_reason(
    runs: Callable[[], pl.DataFrame], words: str
) -> None:
    found = variation(runs(), list(LEVELS), "train_seconds")

    assert found.rows == ()
    assert variation_summary(found) is None
    assert said(found, words)


def test_a_single_level_of_every_factor_gives_a_reason_too() -> None:
    found = variation(study(seconds).head(1), list(LEVELS), "train_seconds")

    assert found.rows == ()
    assert said(found, "more than one level")


def test_runs_that_repeat_exactly_need_no_test() -> None:
    found = variation(study(seconds, noise=0), list(LEVELS), "train_seconds")

    assert found.rows[-1].share == 0
    assert all(row.p_value is None for row in found.rows)
    assert found.residuals is None
    assert said(found, "do not differ at all")


def test_single_runs_that_a_model_explains_exactly_are_not_called_repeated() -> None:
    factors = {name: LEVELS[name] for name in ("framework", "batch_size")}

    def added(framework: str, batch_size: int) -> float:
        return len(framework) + batch_size

    runs = study(added, factors, replications=1, noise=0)
    found = variation(runs, list(factors), "train_seconds", logarithmic=False)

    assert all(row.p_value is None for row in found.rows)
    assert said(found, "explain every run exactly")
    assert not said(found, "Runs of the same combination")


def test_names_of_factors_are_the_users_own() -> None:
    renamed: dict[str, list[Any]] = {
        'na"me': ["[a]", "b"],
        "x ~ y + C(z)": [True, False],
        "0": [0.1, 0.2],
    }
    runs = study(lambda **_: 1.0, factors=renamed, noise=0.1)
    found = variation(runs, list(renamed), "train_seconds")

    assert found.rows[0].term == ('na"me',)
    assert len(found.rows) == 8


def test_a_run_that_does_not_name_a_factor_is_at_a_level_of_its_own() -> None:
    runs = study(seconds).with_columns(
        pl.when(pl.col("framework") == "pytorch")
        .then(None)
        .otherwise("framework")
        .alias("framework")
    )
    found = variation(runs, ["framework"], "train_seconds")

    assert [row.term for row in found.rows] == [("framework",), ()]


def test_a_dozen_factors_get_a_table_that_can_be_read() -> None:
    factors = {f"factor{place}": ["a", "b"] for place in range(12)}
    source = np.random.default_rng(1)
    rows = [
        {name: str(source.choice(levels)) for name, levels in factors.items()} for _ in range(300)
    ]
    runs = finished({**row, "train_seconds": float(source.lognormal())} for row in rows)
    found = variation(runs, list(factors), "train_seconds")

    assert 12 <= len(found.rows) <= MOST_TERMS
    assert sum(row.degrees_of_freedom for row in found.rows) == 299


def test_many_runs_of_a_full_study_keep_interactions_within_bounds() -> None:
    factors = {f"factor{place}": ["a", "b"] for place in range(9)}
    runs = study(lambda **_: 1.0, factors=factors, noise=0.1, replications=1)
    found = variation(runs, list(factors), "train_seconds")

    assert max(len(row.term) for row in found.rows) == 2
    assert said(found, "too many to be reported")


@pytest.mark.filterwarnings("error")
def test_whatever_was_measured_degrees_of_freedom_add_up() -> None:
    source = np.random.default_rng(9)
    for _ in range(150):
        count = int(source.integers(2, 40))
        names = [f"factor{place}" for place in range(source.integers(1, 6))]
        columns = {name: source.integers(0, source.integers(1, 5), count) for name in names}
        # Coarse values, as of a clock that ticks rarely, make degenerate spreads.
        coarse = source.integers(1, 4, count).astype(float)
        runs = pl.DataFrame({**columns, "train_seconds": coarse, "verdict": ["finished"] * count})
        found = variation(runs, names, "train_seconds")

        assert found.findings
        assert all(0 <= row.share <= 1 + 1e-9 for row in found.rows)
        if found.rows:
            assert sum(row.degrees_of_freedom for row in found.rows) == count - 1


@pytest.mark.filterwarnings("error")
def test_runs_equally_far_from_their_median_do_not_tell_whether_spreads_differ() -> None:
    # The clock ticks in hundredths: what differs between these distances is rounding.
    for tick in range(1, 500):
        pairs = [(place / 100, (place + 1) / 100) for place in (tick, 3 * tick, 7 * tick)]
        groups = [np.array([low, high] * 3) - np.mean([low, high] * 3) for low, high in pairs]

        assert check_residuals(groups).spread_p is None


def test_normal_residuals_of_one_spread_pass_the_checks() -> None:
    found = variation(study(seconds, replications=10), list(LEVELS), "train_seconds")

    assert said(found, "No evidence against")


def test_a_few_runs_far_away_are_told_as_residuals_that_are_not_normal() -> None:
    runs = study(seconds, replications=10).with_columns(
        train_seconds=pl.when(pl.col("replication") == 3)
        .then(pl.col("train_seconds") * 3)
        .otherwise("train_seconds")
    )

    assert said(variation(runs, list(LEVELS), "train_seconds"), "not normal")


def test_a_level_that_spreads_more_is_told() -> None:
    runs = study(seconds, replications=10, noise=0.01)
    source = np.random.default_rng(2)
    shaken = pl.Series(source.lognormal(0, 0.3, size=runs.height))
    runs = runs.with_columns(
        train_seconds=pl.when(pl.col("framework") == "pytorch")
        .then(pl.col("train_seconds") * shaken)
        .otherwise("train_seconds")
    )

    assert said(variation(runs, list(LEVELS), "train_seconds"), "spread more than others")


def study(
    effect: Effect,
    factors: Mapping[str, list[Any]] = LEVELS,
    *,
    replications: int = 3,
    noise: float = 0.02,
    only: Callable[[Mapping[str, Any]], bool] = lambda _: True,
    metric: str = "train_seconds",
) -> pl.DataFrame:
    source = np.random.default_rng(5)
    combinations = [
        dict(zip(factors, levels, strict=True)) for levels in product(*factors.values())
    ]
    return finished(
        {
            **levels,
            "replication": replication,
            metric: effect(**levels) * float(np.exp(noise * source.standard_normal())),
        }
        for levels in combinations
        if only(levels)
        for replication in range(replications)
    )


def finished(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    table = pl.DataFrame(list(rows))
    names = [f"run-{place}" for place in range(table.height)]
    return table.with_columns(run=pl.Series(names), verdict=pl.lit("finished"))


def share(found: Variation, *term: str) -> float:
    return next(row.share for row in found.rows if row.term == term)


def said(found: Variation, words: str) -> bool:
    return any(words in str(remark) for remark in variation_remarks(found))
