"""Runs and times that deserve doubt: far from the others, drifting, or near the clock's step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isnan, sqrt
from statistics import fmean, stdev

import numpy as np
import polars as pl
from scipy.special import stdtr

from prumo.statistics.metric import Kind, metric_of

MINIMUM_VALUES = 3


def grubbs_statistic(values: Sequence[float]) -> float:
    """How many standard deviations the farthest value is from the mean; 0 without a spread."""
    deviation = stdev(values)
    if deviation == 0:
        return 0.0
    mean = fmean(values)
    return max(abs(value - mean) for value in values) / deviation


def grubbs_p_value(values: Sequence[float]) -> float:
    """The chance that normal values hold one as far out as the farthest of these, two-sided.

    Grubbs (1969), Technometrics 11(1); NIST/SEMATECH e-Handbook, section 1.3.5.17.1.
    """
    n = len(values)
    if n < MINIMUM_VALUES:
        return 1.0
    statistic = grubbs_statistic(values)
    remainder = (n - 1) ** 2 - n * statistic**2
    t = sqrt(n * (n - 2) * statistic**2 / remainder) if remainder > 0 else inf
    return min(1.0, 2 * n * float(stdtr(n - 2, -t)))


MINIMUM_DEGREES_OF_FREEDOM = 6


@dataclass(frozen=True)
class Drift:
    """A trend over the order of runs, after the differences between scenarios are taken out."""

    correlation: float
    p_value: float
    change_percent: float
    """How much a run changes from the first place in the order to the last, about."""


def drift_over_order(runs: pl.DataFrame, metric: str) -> Drift | None:
    """The trend of a metric over `order`; None with too few replications to see one.

    Rank correlation of what is left of metric and order after each scenario's mean is taken from
    both; a degree of freedom is spent on every scenario, as in an analysis of covariance.
    """
    table = _centred(runs, metric)
    degrees_of_freedom = table.height - table["scenario"].n_unique() - 1
    if degrees_of_freedom < MINIMUM_DEGREES_OF_FREEDOM:
        return None
    correlation = table.select(pl.corr("place", "residual", method="spearman")).item()
    if correlation is None or isnan(correlation):
        return None
    remainder = 1 - correlation**2
    t = abs(correlation) * sqrt(degrees_of_freedom / remainder) if remainder > 0 else inf
    place, order = pl.col("place"), pl.col("order")
    slope = table.select((place * pl.col("residual")).sum() / (place * place).sum()).item() or 0.0
    return Drift(
        correlation=correlation,
        p_value=2 * float(stdtr(degrees_of_freedom, -t)),
        change_percent=100 * slope * runs.select(order.max() - order.min()).item(),
    )


def _centred(runs: pl.DataFrame, metric: str) -> pl.DataFrame:
    value, order = pl.col(metric), pl.col("order").cast(pl.Float64)
    return (
        runs.filter(value.is_not_null() & (value.mean().over("scenario") != 0))
        .filter(pl.len().over("scenario") > 1)
        .select(
            "scenario",
            place=order - order.mean().over("scenario"),
            residual=value / value.mean().over("scenario") - 1,
        )
    )


# Ours: a step of this share of a time hides differences that a study is made to see.
STEP_PERCENT = 1.0
# Values of a finer clock all end in a zero by chance once in ten to the power of their number.
FEWEST_VALUES = 4
# 1000 s, the coarsest step that is looked for, down to 1 microsecond.
STEPS_SECONDS = tuple(10.0**power for power in range(3, -7, -1))
# Decimal fractions are not exact in binary; this is far above their error, far below any step.
ROUNDING = 1e-6


@dataclass(frozen=True)
class CoarseTime:
    """A metric of which the clock's step is a part that counts."""

    metric: str
    step_seconds: float | None
    """The step that all of its values are multiples of; None where it is the machine's clock."""
    percent: float
    """The step in percent of the shortest time."""


def coarse_times(
    finished: pl.DataFrame, clock_steps: pl.DataFrame, metric: str | None
) -> list[CoarseTime]:
    """The times of finished runs that are short for the clock that took them.

    `clock_steps` has the `step` of the clock in seconds by `run`, where it is known; `metric` is
    the one that a study is about.
    """
    # What a user calls a time may be a factor. Waiting for data takes no time where they are in
    # memory; that is no matter of the clock.
    names = [
        known.name
        for known in map(metric_of, finished.columns)
        if known.unit == "s"
        and (known.kind is Kind.SPEED or known.name == metric)
        and known.name != "data_seconds"
    ]
    return [*_timed_in_steps(finished, names), *_near_the_clock(finished, clock_steps, names)]


def step_of(values: Sequence[float]) -> float | None:
    """The largest power of ten in seconds that all values are multiples of; None without one.

    >>> step_of([1.5, 2.0, 1.7, 1.6])
    0.1
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if len(known) < FEWEST_VALUES or not known.any():
        return None
    for step in STEPS_SECONDS:
        multiples = known / step
        # Values far below a step are near zero times it, and no multiple of it all the same.
        allowed = ROUNDING * np.minimum(np.abs(multiples), 1)
        if np.all(np.abs(multiples - np.round(multiples)) <= allowed):
            return step
    return None


def _timed_in_steps(finished: pl.DataFrame, names: Sequence[str]) -> Iterator[CoarseTime]:
    for name in names:
        means = finished.group_by("scenario").agg(pl.col(name).mean())
        shortest = means.filter(pl.col(name) > 0).select(pl.col(name).min()).item()
        step = step_of(finished[name].drop_nulls().to_list())
        if step and shortest and (percent := 100 * step / shortest) > STEP_PERCENT:
            yield CoarseTime(name, step, percent)


def _near_the_clock(
    finished: pl.DataFrame, clock_steps: pl.DataFrame, names: Sequence[str]
) -> Iterator[CoarseTime]:
    for name in names:
        times = finished.select("run", time=name).join(clock_steps, on="run")
        worst = times.filter(pl.col("time") > 0).select((pl.col("step") / pl.col("time")).max())
        share = worst.item()
        if share is not None and 100 * share > STEP_PERCENT:
            yield CoarseTime(name, None, 100 * share)
