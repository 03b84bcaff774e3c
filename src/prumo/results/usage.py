"""What runs used of their machine: one row per run, and how that went on over each run's time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from prumo.results.samples import read_samples

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SPANS = 60
"""Equal spans of time that every run is cut into, whatever it took."""
SPAN_SECONDS = "span_seconds"
"""How long a row covers: the time since the row before."""
NOT_USAGE = {"run", "time", "seconds"}
TIMELINE = {"run": pl.String, "span": pl.Int64, "seconds": pl.Float64, "samples": pl.Int64}


@dataclass(frozen=True)
class Usage:
    """The samples of many runs, brought down to what tables and figures need."""

    per_run: pl.DataFrame
    """A row per run: means over time of percentages and powers, the most of bytes and energy."""
    over_time: pl.DataFrame
    """A row per run and span of its time: the mean of every column, and how many samples."""


def read_usage(run_paths: Iterable[Path]) -> Usage:
    """Read the samples of these run folders once, a few runs at a time."""
    per_run = [pl.DataFrame(schema={"run": pl.String})]
    over_time = [pl.DataFrame(schema=TIMELINE)]
    for run, samples in read_samples(run_paths):
        name = pl.lit(run).alias("run")
        per_run.append(usage_of_run(samples).with_columns(name))
        over_time.append(usage_in_spans(samples).with_columns(name))
    return Usage(
        pl.concat(per_run, how="diagonal").sort("run"),
        pl.concat(over_time, how="diagonal").sort("run", "span"),
    )


def usage_of_run(samples: pl.DataFrame) -> pl.DataFrame:
    """One row: means over time of percentages and powers, the most of bytes and energy."""
    reductions = [_reduction(name) for name in _usage_columns(samples)]
    # Once for all columns, not once for each.
    spanned = samples.with_columns(pl.col("seconds").diff().alias(SPAN_SECONDS))
    return spanned.select(reduction for reduction in reductions if reduction is not None)


def usage_in_spans(samples: pl.DataFrame) -> pl.DataFrame:
    """The mean of every column in each span of one run's time that has samples."""
    seconds = pl.col("seconds")
    # The last sample ends the last span; a run of a single sample has no time to divide.
    span = (seconds / seconds.max() * SPANS).fill_nan(0).floor().clip(0, SPANS - 1).cast(pl.Int64)
    if samples["seconds"].is_sorted():
        # Rows in order, as a sampler writes them, are grouped in a third of the time.
        span = span.set_sorted()
    return samples.group_by(span.alias("span")).agg(
        seconds.mean(),
        pl.len().cast(pl.Int64).alias("samples"),
        pl.col(_usage_columns(samples)).mean(),
    )


def _usage_columns(samples: pl.DataFrame) -> list[str]:
    return [name for name in samples.columns if name not in NOT_USAGE]


def _reduction(column: str) -> pl.Expr | None:
    if column.endswith(("_percent", "_watts")):
        return _mean_over_time(pl.col(column)).alias(f"{column}_mean")
    if column.endswith("_bytes"):
        return pl.col(column).max().alias(f"{column}_max")
    if column.endswith("_joules"):
        # A counter that only grows since the sampler began: its greatest value is the run's total.
        return pl.col(column).max()
    return None


def _mean_over_time(value: pl.Expr) -> pl.Expr:
    """Each row counts for the time since the row before: the last comes early, some come late."""
    span = pl.col(SPAN_SECONDS)
    covered = span.filter(value.is_not_null()).sum()
    return pl.when(covered > 0).then((value * span).sum() / covered).otherwise(value.mean())
