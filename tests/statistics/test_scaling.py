from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from prumo.report.sections.scaling import scaling_sentences, scaling_table
from prumo.statistics.scaling import Law, ScalingFit, scaling_fits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BATCHES = (1, 2, 4, 8, 16, 32, 64)
LAWS: dict[Law, Callable[[float], float]] = {
    Law.POWER: lambda x: 3 * x**0.7,
    Law.LINE: lambda x: 5 + 0.3 * x,
    Law.SHARED: lambda x: 5 + 40 / x,
}
POWERS = [0.1, 0.2, 0.3, 0.4, 0.5]
STARTS = {Law.POWER: 3.0, Law.LINE: 5.0, Law.SHARED: 5.0}
SLOPES = {Law.POWER: 0.7, Law.LINE: 0.3, Law.SHARED: 40.0}


@pytest.mark.parametrize("law", Law)
def test_a_law_is_found_again_with_its_constants(law: Law) -> None:
    fit = _fit(_runs(LAWS[law], noise=0.0))

    assert fit.law is law
    assert fit.slope.value == pytest.approx(SLOPES[law], rel=1e-6)
    assert fit.start.value == pytest.approx(STARTS[law], rel=1e-6)
    assert fit.error_percent == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("law", Law)
def test_intervals_of_a_laws_slope_cover_it_as_often_as_they_say(law: Law) -> None:
    studies = pl.concat(
        _runs(LAWS[law], noise=0.03, seed=seed).with_columns(seed=seed) for seed in range(200)
    )
    fits = scaling_fits(studies, ["seed", "batch_size"], "train_seconds")
    covered = sum(fit.slope.low <= SLOPES[law] <= fit.slope.high for fit in fits)

    assert all(fit.law is law for fit in fits)
    # 93 to 97 % within the error of 200 trials.
    assert 0.90 <= covered / 200 <= 0.995


def test_the_exponent_is_that_of_a_regression_on_logarithms() -> None:
    runs = _runs(LAWS[Law.POWER], noise=0.1, replications=1)
    slope, _ = np.polyfit(np.log(runs["batch_size"]), np.log(runs["train_seconds"]), 1)

    assert _fit(runs).exponent.value == pytest.approx(slope)


def test_each_combination_of_the_other_factors_has_a_fit_of_its_own() -> None:
    slow = _runs(LAWS[Law.POWER], noise=0.0).with_columns(framework=pl.lit("a"))
    flat = _runs(lambda _: 7.0, noise=0.0).with_columns(framework=pl.lit("b"))
    one, other = scaling_fits(pl.concat([slow, flat]), ["framework", "batch_size"], "train_seconds")

    assert (one.within, other.within) == ({"framework": "a"}, {"framework": "b"})
    assert (one.exponent.value, other.exponent.value) == pytest.approx((0.7, 0.0))


def test_laws_that_the_levels_do_not_tell_apart_are_said_to_be_so() -> None:
    fit = _fit(_runs(LAWS[Law.POWER], levels=(31, 32, 33, 34), noise=0.2))

    assert fit.rivals
    assert str(scaling_sentences([fit])[0]).endswith("cannot distinguish this law from another.")


def test_a_law_that_close_levels_hardly_bound_is_told_with_numbers() -> None:
    times = dict(zip((224, 225, 226), (3.5, 1.6, 0.08), strict=True))
    fit = _fit(_runs(lambda size: times[int(size)], levels=list(times), noise=0.0))
    ends = [fit.start.low, fit.start.high, fit.exponent.low, fit.exponent.high]

    assert np.isfinite(ends).all()
    assert "inf" not in str(scaling_sentences([fit])[0])


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(lambda: _runs(LAWS[Law.LINE], levels=(1, 2)), id="two levels"),
        pytest.param(
            lambda: _runs(LAWS[Law.LINE]).with_columns(pl.col("batch_size").cast(pl.String)),
            id="words",
        ),
        pytest.param(
            lambda: _runs(LAWS[Law.LINE]).with_columns(verdict=pl.lit("crashed")), id="failed"
        ),
        pytest.param(lambda: _runs(lambda _: 0.0), id="nothing took any time"),
    ],
)
def test_without_three_measured_sizes_there_is_no_fit(runs: Callable[[], pl.DataFrame]) -> None:
    assert scaling_fits(runs(), ["batch_size"], "train_seconds") == []


def test_a_seed_is_no_size() -> None:
    runs = _runs(LAWS[Law.LINE]).rename({"batch_size": "seed"})

    assert scaling_fits(runs, ["seed"], "train_seconds") == []


def test_sentences_tell_the_law_and_where_it_was_measured() -> None:
    said = {law: str(scaling_sentences([_fit(_runs(LAWS[law], noise=0.0))])[0]) for law in Law}

    assert said[Law.POWER] == (
        "Training time goes with batch_size to the power 0.700 [0.700, 0.700]; twice the "
        "batch_size makes it 1.62 [1.62, 1.62] times as large, measured from 1 to 64."
    )
    assert "about 5.000 s plus 300.0 ms for each of batch_size, measured" in said[Law.LINE]
    assert "about 5.000 s plus 40.00 s divided by batch_size, measured" in said[Law.SHARED]


def test_many_combinations_are_told_as_a_range() -> None:
    runs = pl.concat(
        _runs(partial(_power, power), noise=0.0).with_columns(network=pl.lit(str(power)))
        for power in POWERS
    )
    fits = scaling_fits(runs, ["network", "batch_size"], "train_seconds")
    (said,) = scaling_sentences(fits)
    table = scaling_table(fits)

    assert "to powers from 0.10 to 0.50 in 5 combinations" in str(said)
    assert table["combination"].to_list() == [f"network={power}" for power in POWERS]
    assert table["exponent"].to_list() == pytest.approx(POWERS)


def _power(power: float, size: float) -> float:
    return float(size**power)


def _fit(runs: pl.DataFrame) -> ScalingFit:
    (fit,) = scaling_fits(runs, ["batch_size"], "train_seconds")
    return fit


def _runs(
    law: Callable[[float], float],
    *,
    levels: Sequence[int] = BATCHES,
    noise: float = 0.02,
    replications: int = 3,
    seed: int = 1,
) -> pl.DataFrame:
    source = np.random.default_rng(seed)
    sizes = np.repeat(levels, replications)
    exact = np.array([law(float(size)) for size in sizes])
    return pl.DataFrame(
        {
            "scenario": [f"C{size}" for size in sizes],
            "verdict": "finished",
            "batch_size": sizes,
            "train_seconds": exact * np.exp(source.normal(0, noise, len(sizes))),
        }
    )
