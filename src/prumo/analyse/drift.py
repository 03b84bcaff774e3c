"""Whether results moved with the order in which the runs were made."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan, sqrt

import polars as pl
from scipy.special import stdtr

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
    return Drift(
        correlation=correlation,
        p_value=_p_value(correlation, degrees_of_freedom),
        change_percent=_slope(table) * _span(runs) * 100,
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


def _p_value(correlation: float, degrees_of_freedom: int) -> float:
    remainder = 1 - correlation**2
    t = abs(correlation) * sqrt(degrees_of_freedom / remainder) if remainder > 0 else inf
    return 2 * float(stdtr(degrees_of_freedom, -t))


def _slope(table: pl.DataFrame) -> float:
    place = pl.col("place")
    slope: float | None = table.select(
        (place * pl.col("residual")).sum() / (place * place).sum()
    ).item()
    return slope or 0.0


def _span(runs: pl.DataFrame) -> float:
    order = pl.col("order")
    span: float | None = runs.select(order.max() - order.min()).item()
    return span or 0.0
