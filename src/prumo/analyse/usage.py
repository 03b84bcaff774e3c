"""What scenarios use of their machine over time: means of their runs, and the band between them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from prumo.message import Message
from prumo.results.usage import SPANS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RESOURCES = (
    (Message("CPU"), re.compile(r"cpu_percent")),
    (Message("memory"), re.compile(r"memory_percent")),
    (Message("GPU"), re.compile(r"gpu\d+_percent")),
    (Message("GPU memory"), re.compile(r"gpu\d+_memory_percent")),
)
COLUMNS = {
    "scenario": pl.String,
    "resource": pl.String,
    "seconds": pl.Float64,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "runs": pl.Int64,
}


def resources_of(columns: Iterable[str]) -> list[tuple[Message, list[str]]]:
    """The shares of a whole machine that samples tell of, with their columns; GPUs go together."""
    names = list(columns)
    found = [
        (title, [name for name in names if pattern.fullmatch(name)]) for title, pattern in RESOURCES
    ]
    return [(title, matching) for title, matching in found if matching]


def usage_by_scenario(
    over_time: pl.DataFrame, runs: pl.DataFrame, resources: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """Per scenario, resource and span of time: the mean of its finished runs, the least, the most.

    Runs of a scenario take different times, so spans are parts of each run's own time; `seconds`
    is where they lie on average. There are no more spans than the run with fewest samples has.
    """
    finished = runs.filter(pl.col("verdict") == "finished").select("run", "scenario")
    joined = over_time.join(finished, on="run", how="inner", maintain_order="left")
    if joined.is_empty() or not resources:
        return pl.DataFrame(schema=COLUMNS)
    fewest = pl.col("samples").sum().over("run").min().over("scenario").clip(1, SPANS)
    coarser = joined.select(
        "run",
        "scenario",
        "seconds",
        (pl.col("span") * fewest // SPANS).alias("span"),
        **{name: pl.mean_horizontal(columns) for name, columns in resources.items()},
    )
    per_run = coarser.group_by("scenario", "run", "span", maintain_order=True).agg(pl.all().mean())
    return (
        per_run.unpivot(
            on=list(resources),
            index=["scenario", "span", "seconds"],
            variable_name="resource",
        )
        .drop_nulls("value")
        .group_by("scenario", "resource", "span", maintain_order=True)
        .agg(
            seconds=pl.col("seconds").mean(),
            mean=pl.col("value").mean(),
            low=pl.col("value").min(),
            high=pl.col("value").max(),
            runs=pl.len().cast(pl.Int64),
        )
        .sort("scenario", "resource", "span", maintain_order=True)
        .select(*COLUMNS)
    )
