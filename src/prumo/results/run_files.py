"""The samples.csv and events.jsonl files of run folders as lazy tables, or run by run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from pydantic import TypeAdapter

from prumo.errors import InputError
from prumo.results.folder import JOURNAL_FILE, SAMPLES_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from polars.datatypes import DataTypeClass

# Some 100 MB as tables: enough to keep all cores busy, little beside what a machine has.
BATCH_BYTES = 32 * 2**20
SPANS = 60
"""Equal spans of time that every run is cut into, whatever it took."""
SPAN_SECONDS = "span_seconds"
"""How long a row covers: the time since the row before."""
NOT_USAGE = {"run", "time", "seconds"}
TIMELINE = {"run": pl.String, "span": pl.Int64, "seconds": pl.Float64, "samples": pl.Int64}

_FIGURES: dict[str, DataTypeClass] = {
    "seconds": pl.Float64,
    "data_seconds": pl.Float64,
    "compute_seconds": pl.Float64,
    "images": pl.Int64,
    "loss": pl.Float64,
}

# The name of the run folder that a file is in.
_RUN = pl.col("run").str.extract(r"([^/]+)/[^/]+$")
_MARK = re.compile(rb'"event"\s*:\s*"profile"')


def scan_samples(run_paths: Iterable[Path]) -> pl.LazyFrame:
    """The samples of these run folders, read only when collected; `run` says whose they are."""
    tables = [
        _scan_samples(header, files, include_file_paths="run").with_columns(_RUN)
        for header, files in _files_by_header(run_paths).items()
    ]
    if not tables:
        return pl.LazyFrame(schema={"run": pl.String, "time": pl.Float64, "seconds": pl.Float64})
    return pl.concat(tables, how="diagonal")


def read_samples(run_paths: Iterable[Path]) -> Iterator[tuple[str, pl.DataFrame]]:
    """The samples of one run after the other, read side by side but only a few at a time.

    What is computed run by run needs no more memory for many runs than for a few.
    """
    for header, files in _files_by_header(run_paths).items():
        for batch in _batches(files):
            # When a row was written matters to nobody here, and parsing it costs as all columns do.
            scans = [_scan_samples(header, [file]).drop("time", strict=False) for file in batch]
            tables = pl.collect_all(scans, engine="streaming")
            yield from zip((file.parent.name for file in batch), tables, strict=True)


def _files_by_header(run_paths: Iterable[Path]) -> dict[str, list[Path]]:
    # Machines with other hardware have other columns, and one scan needs one schema.
    files: dict[str, list[Path]] = {}
    for run_path in run_paths:
        file = run_path / SAMPLES_FILE
        if file.is_file():
            with file.open(encoding="utf-8", errors="replace") as lines:
                line = lines.readline()
            header = line.strip()
            # A sampler that was killed at once leaves half a header and nothing below it.
            if not header or not line.endswith("\n"):
                continue
            names = header.split(",")
            if "seconds" not in names or len(set(names)) < len(names):
                raise InputError(
                    f"{file}: no table of samples; its first line must name each column once, "
                    "`seconds` among them"
                )
            files.setdefault(header, []).append(file)
    return files


def _batches(files: Iterable[Path]) -> Iterator[list[Path]]:
    batch: list[Path] = []
    size = 0
    for file in files:
        batch.append(file)
        size += file.stat().st_size
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _scan_samples(
    header: str, files: list[Path], include_file_paths: str | None = None
) -> pl.LazyFrame:
    return pl.scan_csv(
        files,
        schema=dict.fromkeys(header.split(","), pl.Float64),
        # A sampler that was killed leaves half a row, which must not cost the whole ones.
        ignore_errors=True,
        truncate_ragged_lines=True,
        glob=False,
        include_file_paths=include_file_paths,
    )


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
        # Each row counts for the time since the row before: the last comes early, some come late.
        value, span = pl.col(column), pl.col(SPAN_SECONDS)
        covered = span.filter(value.is_not_null()).sum()
        mean = pl.when(covered > 0).then((value * span).sum() / covered).otherwise(value.mean())
        return mean.alias(f"{column}_mean")
    if column.endswith("_bytes"):
        return pl.col(column).max().alias(f"{column}_max")
    if column.endswith("_joules"):
        # A counter that only grows since the sampler began: its greatest value is the run's total.
        return pl.col(column).max()
    return None


def scan_steps(run_paths: Iterable[Path]) -> pl.LazyFrame:
    """Every step of these run folders; epoch 0 is warm-up."""
    return _scan_events(run_paths, "step", {"epoch": pl.Int64, "step": pl.Int64, **_FIGURES})


def scan_epochs(run_paths: Iterable[Path]) -> pl.LazyFrame:
    """Every epoch of these run folders."""
    fields = {"epoch": pl.Int64, **_FIGURES, "accuracy": pl.Float64}
    return _scan_events(run_paths, "epoch", fields)


def _scan_events(
    run_paths: Iterable[Path], event: str, fields: Mapping[str, DataTypeClass]
) -> pl.LazyFrame:
    journals = (path / JOURNAL_FILE for path in run_paths)
    files = [file for file in journals if file.is_file() and file.stat().st_size]
    if not files:
        return pl.LazyFrame(schema={"run": pl.String, **fields})
    lines = pl.scan_csv(
        files,
        # One column per line: the separator is a character that JSON text cannot hold.
        separator="\x1f",
        quote_char=None,
        has_header=False,
        schema={"line": pl.String},
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        glob=False,
        include_file_paths="run",
    )
    return lines.filter(pl.col("line").str.contains(rf'"event":\s*"{event}"')).select(
        _RUN, *(_field(name, kind) for name, kind in fields.items())
    )


def _field(name: str, kind: DataTypeClass) -> pl.Expr:
    # By pattern and not by a JSON parser: a loss of NaN and a torn last line are not JSON.
    number = pl.col("line").str.extract(rf'"{name}":\s*(-?[0-9][0-9.eE+-]*)')
    return number.cast(pl.Float64, strict=False).cast(kind, strict=False).alias(name)


@dataclass(frozen=True)
class OperationShare:
    """One operation in the profile of a run, all its calls together."""

    operation: str
    calls: int
    seconds: float
    share: float
    """Of all operations' own time."""


@dataclass(frozen=True)
class FunctionShare:
    """One function of the process, as Linux's own profiler saw it in all threads."""

    function: str
    seconds: float
    share: float


@dataclass(frozen=True)
class Profile:
    """The operations of a few steps, the longest first; or why there are none."""

    steps: int = 0
    rows: tuple[OperationShare, ...] = ()
    reason: str = ""
    functions: tuple[FunctionShare, ...] = ()
    """Empty where perf is missing."""


def read_profile(run_path: Path) -> Profile | None:
    """The last profile in a run's journal; none where no profile was asked for."""
    try:
        journal = (run_path / JOURNAL_FILE).read_bytes()
        # One look at the whole file: most runs have thousands of steps and no profile.
        if not _MARK.search(journal):
            return None
        found = [line for line in journal.splitlines() if _MARK.search(line)]
        return TypeAdapter(Profile).validate_json(found[-1])
    except (OSError, ValueError):
        return None
