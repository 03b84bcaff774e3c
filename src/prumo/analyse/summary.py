"""One row per scenario and metric: how many runs, their mean, and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from prumo.analyse.interval import DEFAULT_CONFIDENCE, t_quantile
from prumo.analyse.metric import metric_of
from prumo.results.column import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Sequence


def summarise(
    runs: pl.DataFrame,
    factors: Sequence[str],
    metrics: Sequence[str],
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """Statistics of every metric in every scenario that has finished runs, in the order given.

    A single run has no standard deviation and no interval: both are null.
    """
    finished = runs.filter(pl.col("verdict") == "finished")
    tables = [_summarise_metric(finished, factors, metric, confidence) for metric in metrics]
    if not tables:
        return pl.DataFrame(schema=_schema(runs, factors))
    return pl.concat(tables)


def _summarise_metric(
    finished: pl.DataFrame, factors: Sequence[str], metric: str, confidence: float
) -> pl.DataFrame:
    value = pl.col(metric)
    # Equal values have no spread; summing and dividing them would leave a rounding error of one.
    constant = value.min() == value.max()
    table = (
        finished.filter(value.is_not_null() & value.is_finite())
        .group_by("scenario", *factors, maintain_order=True)
        .agg(
            n=pl.len().cast(pl.Int64),
            mean=pl.when(constant).then(value.min()).otherwise(value.mean()),
            standard_deviation=pl.when(constant & (pl.len() > 1))
            .then(0.0)
            .otherwise(value.std(ddof=1)),
            median=value.median(),
            minimum=value.min(),
            maximum=value.max(),
        )
    )
    half_width = _half_width(table, confidence)
    return table.select(
        "scenario",
        *factors,
        pl.lit(metric).alias("metric"),
        pl.lit(metric_of(metric).unit).alias("unit"),
        "n",
        "mean",
        "standard_deviation",
        (pl.col("mean") - half_width).alias("ci_low"),
        (pl.col("mean") + half_width).alias("ci_high"),
        "median",
        "minimum",
        "maximum",
    )


def _half_width(table: pl.DataFrame, confidence: float) -> pl.Series:
    quantiles = {n: t_quantile(confidence, n - 1) for n in set(table["n"]) if n > 1}
    return pl.Series(
        [
            None if deviation is None else quantiles[n] * deviation / n**0.5
            for n, deviation in zip(table["n"], table["standard_deviation"], strict=True)
        ],
        dtype=pl.Float64,
    )


def _schema(runs: pl.DataFrame, factors: Sequence[str]) -> pl.Schema:
    names = ("scenario", "metric", "unit")
    scenario, metric, unit = ((name, pl.String()) for name in names)
    levels = ((factor, runs.schema[factor]) for factor in factors)
    return pl.Schema([scenario, *levels, metric, unit, *STATISTICS.items()])
