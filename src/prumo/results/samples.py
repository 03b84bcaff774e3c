"""What the sampler saw: samples.csv files as one lazy table, and one row of usage per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from prumo.results.folder import SAMPLES_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NOT_USAGE = {"run", "time", "seconds"}


def scan_samples(run_paths: Iterable[Path]) -> pl.LazyFrame:
    """The samples of these run folders, read only when collected; `run` says whose they are."""
    tables = [
        _scan(header, files) for header, files in _files_by_header(run_paths).items() if header
    ]
    if not tables:
        return pl.LazyFrame(schema={"run": pl.String, "time": pl.Float64, "seconds": pl.Float64})
    return pl.concat(tables, how="diagonal")


def usage_per_run(samples: pl.LazyFrame) -> pl.DataFrame:
    """One row per run: means over time of percentages and powers, the most of bytes and energy."""
    columns = [name for name in samples.collect_schema().names() if name not in NOT_USAGE]
    reductions = [reduction for name in columns if (reduction := _reduction(name)) is not None]
    return (
        samples.group_by("run", maintain_order=False)
        .agg(reductions)
        .sort("run")
        .collect(engine="streaming")
    )


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
    span = pl.when(value.is_not_null()).then(pl.col("seconds").diff())
    covered = span.sum()
    return pl.when(covered > 0).then((value * span).sum() / covered).otherwise(value.mean())


def _files_by_header(run_paths: Iterable[Path]) -> dict[str, list[Path]]:
    # Machines with other hardware have other columns, and one scan needs one schema.
    files: dict[str, list[Path]] = {}
    for run_path in run_paths:
        file = run_path / SAMPLES_FILE
        if file.is_file():
            with file.open(encoding="utf-8", errors="replace") as lines:
                files.setdefault(lines.readline().strip(), []).append(file)
    return files


def _scan(header: str, files: list[Path]) -> pl.LazyFrame:
    return pl.scan_csv(
        files,
        schema=dict.fromkeys(header.split(","), pl.Float64),
        # A sampler that was killed leaves half a row, which must not cost the whole ones.
        ignore_errors=True,
        truncate_ragged_lines=True,
        glob=False,
        include_file_paths="run",
    ).with_columns(run_of_file("run"))


def run_of_file(column: str) -> pl.Expr:
    """The name of the run folder that a file is in."""
    return pl.col(column).str.extract(r"([^/]+)/[^/]+$").alias("run")
