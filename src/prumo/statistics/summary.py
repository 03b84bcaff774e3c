"""Means of scenarios with their intervals, and means at each level of a factor."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod, sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING

import polars as pl
from scipy.special import stdtrit

from prumo.results.columns import STATISTICS
from prumo.statistics.interval import (
    BOOTSTRAP_MINIMUM_VALUES,
    DEFAULT_CONFIDENCE,
    Interval,
    bootstrap_interval,
    lowest_mean,
    t_quantile,
)
from prumo.statistics.metric import metric_of
from prumo.study import level_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.results.record import Spread

    Spreads = Mapping[str, Mapping[str, Spread]]

WHOLE_PERCENT = 100.0
NO_SPREADS: Spreads = MappingProxyType({})


def summarise(
    runs: pl.DataFrame,
    factors: Sequence[str],
    metrics: Sequence[str],
    confidence: float = DEFAULT_CONFIDENCE,
    spreads: Spreads = NO_SPREADS,
) -> pl.DataFrame:
    """Statistics of every metric in every scenario that has finished runs, in the order given.

    A single run has no standard deviation and no interval: both are null. The interval is
    Student's; that of an amount stays above zero, that of a share within 100 %. The bootstrap's
    stands beside it where there are runs enough, for values that are far from normal. A run that is
    the mean of a published summary has the n and the standard deviation that were published with
    it, and no median.
    """
    names = {"metric": pl.String(), "unit": pl.String()}
    levels = {factor: runs.schema[factor] for factor in factors}
    empty = pl.DataFrame(schema={"scenario": pl.String(), **levels, **names, **STATISTICS})
    finished = runs.filter(pl.col("verdict") == "finished")
    tables = [
        _summarise_metric(finished, factors, metric, confidence, spreads) for metric in metrics
    ]
    return pl.concat(tables) if tables else empty


def _summarise_metric(
    finished: pl.DataFrame,
    factors: Sequence[str],
    metric: str,
    confidence: float,
    spreads: Spreads,
) -> pl.DataFrame:
    value = pl.col(metric)
    # Equal values have no spread; summing and dividing them would leave a rounding error of one.
    constant = value.min() == value.max()
    scenarios = finished.filter(value.is_not_null() & value.is_finite()).group_by(
        "scenario", *factors, maintain_order=True
    )
    table = scenarios.agg(
        n=pl.len().cast(pl.Int64),
        mean=pl.when(constant).then(value.min()).otherwise(value.mean()),
        standard_deviation=pl.when(constant & (pl.len() > 1))
        .then(0.0)
        .otherwise(value.std(ddof=1)),
        median=value.median(),
        minimum=value.min(),
        maximum=value.max(),
    )
    table = _with_published(table, metric, spreads)
    quantile = pl.Series(stdtrit(table["n"].to_numpy() - 1, 0.5 + confidence / 2))
    half_width = quantile * table["standard_deviation"] / table["n"].sqrt()
    high, highest = pl.col("mean") + half_width, pl.max_horizontal("mean", WHOLE_PERCENT)
    known = metric_of(metric)
    return table.with_columns(
        pl.lit(metric).alias("metric"),
        pl.lit(known.unit).alias("unit"),
        _low(half_width, confidence, is_amount=known.is_amount).alias("ci_low"),
        # Rounding may take a mean of samples above the whole, and an interval holds its mean.
        (high.clip(upper_bound=highest) if known.is_share else high).alias("ci_high"),
        *_bootstrap(scenarios.agg(value)[metric], confidence),
    ).select("scenario", *factors, "metric", "unit", *STATISTICS)


def _with_published(table: pl.DataFrame, metric: str, spreads: Spreads) -> pl.DataFrame:
    """The table with n and spread as published, where a scenario's run is a summary of several."""
    known = {
        scenario: spread
        for scenario, told in spreads.items()
        if (spread := told.get(metric)) is not None and spread.gives_interval
    }
    if not known:
        return table
    scenario = pl.col("scenario")
    is_measured = ~scenario.is_in(list(known))
    counts = {name: spread.n for name, spread in known.items()}
    deviations = {name: spread.standard_deviation for name, spread in known.items()}
    return table.with_columns(
        scenario.replace_strict(counts, default=pl.col("n")).alias("n"),
        scenario.replace_strict(deviations, default=pl.col("standard_deviation")).alias(
            "standard_deviation"
        ),
        *(pl.when(is_measured).then(name).alias(name) for name in ("median", "minimum", "maximum")),
    )


def _low(half_width: pl.Series, confidence: float, *, is_amount: bool) -> pl.Expr:
    low = pl.col("mean") - half_width
    if not is_amount:
        return low
    floor = pl.col("mean") * lowest_mean(1.0, confidence)
    # A user's own metric may be named like a time and be negative all the same.
    return (
        pl.when((low < floor) & (pl.col("minimum").fill_null(pl.col("mean")) >= 0))
        .then(floor)
        .otherwise(low)
    )


def _bootstrap(values: pl.Series, confidence: float) -> pl.DataFrame:
    ends = [
        bootstrap_interval(several, lambda resamples: resamples.mean(axis=-1), confidence)
        if len(several) >= BOOTSTRAP_MINIMUM_VALUES
        else None
        for several in values
    ]
    names = ("bootstrap_low", "bootstrap_high")
    return pl.DataFrame(
        [pair or (None, None) for pair in ends], dict.fromkeys(names, pl.Float64), orient="row"
    )


@dataclass(frozen=True)
class LevelMean:
    """The mean of the scenario means at one level of one factor."""

    factor: str
    level: str
    scenarios: int
    interval: Interval


def main_effects(
    summary: pl.DataFrame,
    factors: Sequence[str],
    metric: str,
    confidence: float = DEFAULT_CONFIDENCE,
) -> list[LevelMean]:
    """The level means of every factor that varies, in the order of factors and levels."""
    table = summary.filter(pl.col("metric") == metric)
    return [
        LevelMean(factor, level_text(level), group.height, mean_of_means(group, confidence))
        for factor in varying(table, factors)
        for (level,), group in table.group_by(factor, maintain_order=True)
    ]


def varying(table: pl.DataFrame, factors: Sequence[str]) -> list[str]:
    """The factors with more than one level in a table."""
    return [factor for factor in factors if table[factor].n_unique() > 1]


def is_balanced(summary: pl.DataFrame, factors: Sequence[str], metric: str) -> bool:
    """Whether every combination has figures, so that level means compare like with like."""
    table = summary.filter(pl.col("metric") == metric)
    return table.height == prod(table[factor].n_unique() for factor in factors)


def mean_of_means(scenarios: pl.DataFrame, confidence: float) -> Interval:
    """The mean of scenario means, every scenario weighing the same.

    Degrees of freedom by Welch (1947), Biometrika 34: scenarios need not spread alike. There is no
    interval when a scenario has a single run.
    """
    count = scenarios.height
    mean = float(scenarios.select(pl.col("mean").mean()).item())
    n = int(scenarios["n"].sum())
    floor = lowest_mean(mean, confidence) if _are_amounts(scenarios) else -inf
    if scenarios["standard_deviation"].null_count():
        return Interval(n, mean, None, floor)
    variances = [
        (row["standard_deviation"] ** 2 / row["n"], row["n"] - 1)
        for row in scenarios.iter_rows(named=True)
    ]
    total = sum(variance for variance, _ in variances)
    if total == 0:
        return Interval(n, mean, 0.0, floor)
    degrees_of_freedom = total**2 / sum(variance**2 / degrees for variance, degrees in variances)
    half_width = t_quantile(confidence, degrees_of_freedom) * sqrt(total) / count
    return Interval(n, mean, half_width, floor)


def _are_amounts(scenarios: pl.DataFrame) -> bool:
    # A published summary tells a mean and no minimum.
    least = scenarios["minimum"].fill_null(scenarios["mean"])
    return metric_of(scenarios["metric"][0]).is_amount and bool((least >= 0).all())
