"""What the sampler saw: samples.csv files as one lazy table, or run by run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from prumo.errors import InputError
from prumo.results.folder import SAMPLES_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# Some 100 MB as tables: enough to keep all cores busy, little beside what a machine has.
BATCH_BYTES = 32 * 2**20


def scan_samples(run_paths: Iterable[Path]) -> pl.LazyFrame:
    """The samples of these run folders, read only when collected; `run` says whose they are."""
    tables = [
        _scan(header, files, include_file_paths="run").with_columns(run_of_file("run"))
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
            scans = [_scan(header, [file]).drop("time", strict=False) for file in batch]
            tables = pl.collect_all(scans, engine="streaming")
            yield from zip((file.parent.name for file in batch), tables, strict=True)


def run_of_file(column: str) -> pl.Expr:
    """The name of the run folder that a file is in."""
    return pl.col(column).str.extract(r"([^/]+)/[^/]+$").alias("run")


def _files_by_header(run_paths: Iterable[Path]) -> dict[str, list[Path]]:
    # Machines with other hardware have other columns, and one scan needs one schema.
    files: dict[str, list[Path]] = {}
    for run_path in run_paths:
        file = run_path / SAMPLES_FILE
        if file.is_file():
            with file.open(encoding="utf-8", errors="replace") as lines:
                header = lines.readline()
            # A sampler that was killed at once leaves half a header and nothing below it.
            if header.endswith("\n") and header.strip():
                files.setdefault(_checked(header.strip(), file), []).append(file)
    return files


def _checked(header: str, file: Path) -> str:
    names = header.split(",")
    if "seconds" not in names or len(set(names)) < len(names):
        raise InputError(
            f"{file}: no table of samples; its first line must name each column once, `seconds` "
            "among them"
        )
    return header


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


def _scan(header: str, files: list[Path], include_file_paths: str | None = None) -> pl.LazyFrame:
    return pl.scan_csv(
        files,
        schema=dict.fromkeys(header.split(","), pl.Float64),
        # A sampler that was killed leaves half a row, which must not cost the whole ones.
        ignore_errors=True,
        truncate_ragged_lines=True,
        glob=False,
        include_file_paths=include_file_paths,
    )
