"""Main effects: the mean of a metric at each level of each factor."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING

import polars as pl

from prumo.statistics.interval import DEFAULT_CONFIDENCE, Interval, lowest_mean, t_quantile
from prumo.statistics.metric import metric_of
from prumo.study import level_text

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    combinations = 1
    for factor in factors:
        combinations *= table[factor].n_unique()
    return table.height == combinations


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
