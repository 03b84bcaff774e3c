"""What workers said: the steps and epochs of events.jsonl files as lazy tables."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.results.folder import JOURNAL_FILE
from prumo.results.samples import run_of_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from polars.datatypes import DataTypeClass


STEP_FIELDS: Mapping[str, DataTypeClass] = {
    "epoch": pl.Int64,
    "step": pl.Int64,
    "seconds": pl.Float64,
    "data_seconds": pl.Float64,
    "compute_seconds": pl.Float64,
    "images": pl.Int64,
    "loss": pl.Float64,
}
EPOCH_FIELDS: Mapping[str, DataTypeClass] = {
    "epoch": pl.Int64,
    "seconds": pl.Float64,
    "data_seconds": pl.Float64,
    "compute_seconds": pl.Float64,
    "images": pl.Int64,
    "loss": pl.Float64,
    "accuracy": pl.Float64,
}


def scan_steps(run_paths: Iterable[Path]) -> pl.LazyFrame:
    """Every step of these run folders; epoch 0 is warm-up."""
    return _scan(run_paths, "step", STEP_FIELDS)


def scan_epochs(run_paths: Iterable[Path]) -> pl.LazyFrame:
    """Every epoch of these run folders."""
    return _scan(run_paths, "epoch", EPOCH_FIELDS)


def _scan(
    run_paths: Iterable[Path], event: str, fields: Mapping[str, DataTypeClass]
) -> pl.LazyFrame:
    files = [file for path in run_paths if _has_text(file := path / JOURNAL_FILE)]
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
        run_of_file("run"), *(_field(name, kind) for name, kind in fields.items())
    )


def _field(name: str, kind: DataTypeClass) -> pl.Expr:
    # By pattern and not by a JSON parser: a loss of NaN and a torn last line are not JSON.
    number = pl.col("line").str.extract(rf'"{name}":\s*(-?[0-9][0-9.eE+-]*)')
    return number.cast(pl.Float64, strict=False).cast(kind, strict=False).alias(name)


def _has_text(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


_MARK = re.compile(rb'"event"\s*:\s*"profile"')


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

    steps: int
    rows: tuple[OperationShare, ...]
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
        return _profile(json.loads(found[-1]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _profile(event: dict[str, Any]) -> Profile:
    rows = [
        OperationShare(
            str(row["operation"]), int(row["calls"]), float(row["seconds"]), float(row["share"])
        )
        for row in event["rows"]
    ]
    functions = [
        FunctionShare(str(row["function"]), float(row["seconds"]), float(row["share"]))
        for row in event.get("functions", [])
    ]
    return Profile(
        steps=int(event.get("steps", 0)),
        rows=tuple(rows),
        reason=str(event.get("reason", "")),
        functions=tuple(functions),
    )
