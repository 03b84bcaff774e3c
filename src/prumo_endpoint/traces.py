"""Arrival times of calls from a CSV file: a plain column of times, or a trace of Azure Functions.

Files are read in blocks; a simulation holds the times of all calls. The format is recognised by its
columns:

- A plain table with a column of rising arrival times, in seconds or as timestamps.
- The table of requests of an earlier run, known by `due_seconds`. Its rows are in order of
  completion, so they are sorted in memory; a file too large for that must be sorted already.
- Azure Functions 2019: a row per function and a column per minute of a day, with the number of
  calls. When a call came within its minute is not known: the calls of a minute are spread evenly
  at random, by a seed. The files of a folder are successive days.
- Azure Functions 2021: a row per call (app, func, end_timestamp, duration); a call arrived its
  duration before its end. Its rows need not be in order of arrival, so they are sorted in memory,
  8 bytes per call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from prumo.errors import InputError
from prumo_endpoint.trace_table import (
    FIRST_LINE,
    column_of,
    header_of,
    numbers_in,
    tables_of,
    times_in,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Times = NDArray[np.float64]

DAY_SECONDS = 86_400.0
MINUTE_SECONDS = 60.0
MINUTES_OF_DAY = 1440
DUE_COLUMN = "due_seconds"
# The names that a column of arrival times may have, the first one found counts.
TIME_COLUMNS = (
    *("arrival_seconds", DUE_COLUMN, "start_seconds", "seconds"),
    *("arrival", "arrival_time", "timestamp", "time"),
)
# About a million rows of a table of requests.
LARGEST_SORTED_BYTES = 256 << 20
AZURE_2021 = {"app", "func", "end_timestamp", "duration"}
AZURE_2019 = {"HashApp", "HashFunction", "1"}
# Seconds since a start are below three years; what is above is a clock's time since 1970.
CLOCK_FROM_SECONDS = 1e8
# Eight bytes each: as many as a simulation can hold.
MOST_CALLS = 50_000_000
NAMES_SHOWN = 3


@dataclass(frozen=True)
class Arrivals:
    """The arrival times of all calls of a trace."""

    seconds: Times
    """Since the start, in rising order."""
    length_seconds: float
    second_of_day: float = 0.0
    """The time of day at the start; zero where the trace does not say it."""
    remark: str = ""
    """What a reader must know of the times."""


@dataclass(frozen=True)
class Trace:
    """Arrival times in a CSV file, or in a folder of them.

    >>> OpenLoop(Trace(Path("calls.csv"), speed_up=60))  # doctest: +SKIP
    """

    path: Path
    function: str = ""
    """Only this function or app of an Azure trace; the beginning of its name is enough."""
    speed_up: float = 1.0
    """How many seconds of the trace pass in a second."""
    seed: int = 1

    def __iter__(self) -> Iterator[float]:
        """Seconds since the start, one call after the other."""
        for batch in self.batches():
            yield from batch.tolist()

    def batches(self) -> Iterator[Times]:
        """Seconds since the start in rising order, so many calls at a time."""
        origin: float | None = None
        for times in self._source.batches():
            if origin is None:
                origin = _origin(float(times[0]))
            yield (times - origin) / self.speed_up
        if origin is None:
            raise InputError(f"{self.path}: has no calls{self._chosen}")

    def arrivals(self) -> Arrivals:
        """All calls at once, for simulations."""
        first: float | None = None
        parts: list[Times] = []
        count = 0
        for times in self._source.batches():
            first = float(times[0]) if first is None else first
            parts.append((times - _origin(first)) / self.speed_up)
            count += len(times)
            if count > MOST_CALLS:
                raise InputError(
                    f"{self.path}: has more than {MOST_CALLS:,} calls{self._chosen}; choose one "
                    "function or app, or give a part of the file"
                )
        if first is None:
            raise InputError(f"{self.path}: has no calls{self._chosen}")
        seconds = np.concatenate(parts)
        days = self._source.days_seconds / self.speed_up
        return Arrivals(
            seconds,
            max(days, float(seconds[-1])),
            _origin(first) % DAY_SECONDS,
            self._source.remark,
        )

    @property
    def _chosen(self) -> str:
        return f" of '{self.function}'" if self.function else ""

    @cached_property
    def _source(self) -> _Source:
        if not 0 < self.speed_up < float("inf"):
            raise InputError(f"a trace cannot be sped up {self.speed_up:g} times; give 60, say")
        files = _files(self.path)
        columns = set(header_of(files[0]))
        if columns >= AZURE_2021:
            return _Azure2021(files, _Selection(files[0], self.function))
        if columns >= AZURE_2019:
            return _Azure2019(files, _Selection(files[0], self.function), self.seed)
        if self.function:
            raise InputError(
                f"{self.path}: has no functions to choose '{self.function}' from; those of Azure "
                "have columns app, func or HashApp, HashFunction"
            )
        return _Plain(files)


class _Source(ABC):
    """One format of a trace."""

    remark = ""
    days_seconds = 0.0
    """How long the trace is, where its format says so."""

    @abstractmethod
    def batches(self) -> Iterator[Times]:
        """Rising times; no batch is empty."""


class _Plain(_Source):
    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files

    def batches(self) -> Iterator[Times]:
        last = -np.inf
        for file in self._files:
            column = _time_column(file)
            for line, times in self._parts(file, column):
                falls = np.flatnonzero(np.diff(times, prepend=last) < 0)
                if falls.size and line + falls[0] == FIRST_LINE:
                    raise InputError(f"{file}: begins before the file before it ends")
                if falls.size:
                    raise InputError(
                        f"{file}:{line + int(falls[0])}: {column} is earlier than in the line "
                        "before; sort the file by it"
                    )
                last = float(times[-1])
                yield times

    @staticmethod
    def _parts(file: Path, column: str) -> Iterator[tuple[int, Times]]:
        """The times of a file with the number of their first line; those of requests in order."""
        parts = (
            (line, times_in(table[column], file, line)) for line, table in tables_of(file, [column])
        )
        if column != DUE_COLUMN or file.stat().st_size > LARGEST_SORTED_BYTES:
            yield from parts
        elif found := [times for _, times in parts]:
            yield FIRST_LINE, np.sort(np.concatenate(found))


class _Azure2021(_Source):
    def __init__(self, files: Sequence[Path], selection: _Selection) -> None:
        self._files = files
        self._selection = selection

    def batches(self) -> Iterator[Times]:
        parts = [np.empty(0)]
        for file in self._files:
            for line, table in tables_of(file, sorted(AZURE_2021)):
                end = numbers_in(table["end_timestamp"], file, line)
                duration = numbers_in(table["duration"], file, line)
                # What began before the recording is counted at its beginning.
                began = np.maximum(end - duration, 0.0)
                parts.append(began[self._selection.rows(table["app"], table["func"])])
        self._selection.require_one()
        times = np.sort(np.concatenate(parts))
        if times.size:
            yield times


class _Azure2019(_Source):
    remark = "The trace counts calls per minute; within a minute they are spread at random."

    def __init__(self, files: Sequence[Path], selection: _Selection, seed: int) -> None:
        self._files = files
        self._selection = selection
        self._seed = seed
        self.days_seconds = DAY_SECONDS * len(files)

    def batches(self) -> Iterator[Times]:
        days = [self._minute_counts(file) for file in self._files]
        self._selection.require_one()
        generator = np.random.default_rng(self._seed)
        for minute, calls in enumerate(np.concatenate(days).tolist()):
            if calls:
                yield MINUTE_SECONDS * (minute + np.sort(generator.random(calls)))

    def _minute_counts(self, file: Path) -> NDArray[np.int64]:
        """The calls of every minute of a day, of all chosen functions."""
        header = set(header_of(file))
        minutes = [name for name in map(str, range(1, MINUTES_OF_DAY + 1)) if name in header]
        totals = np.zeros(MINUTES_OF_DAY, dtype=np.int64)
        for line, table in tables_of(file, ["HashApp", "HashFunction", *minutes]):
            cells = table.select(minutes)
            counts = cells.select(pl.all().str.strip_chars().cast(pl.UInt32, strict=False))
            if any(counts.null_count().row(0)):
                raise _wrong_count(cells, counts, file, line)
            rows = self._selection.rows(table["HashApp"], table["HashFunction"])
            totals[: len(minutes)] += counts.filter(rows).sum().transpose().to_series().to_numpy()
        return totals


class _Selection:
    """The rows of one function or app; of all where none is named."""

    def __init__(self, file: Path, beginning: str) -> None:
        self._file = file
        self._beginning = beginning
        self._found: set[str] = set()
        self._known: set[str] = set()

    def rows(self, *names: pl.Series) -> NDArray[np.bool_]:
        """Which rows are chosen by the names of their app and function."""
        if not self._beginning:
            return np.ones(len(names[0]), dtype=np.bool_)
        chosen = np.zeros(len(names[0]), dtype=np.bool_)
        for name in names:
            is_chosen = name.str.strip_chars().str.starts_with(self._beginning).fill_null(False)
            self._found.update(name.filter(is_chosen).str.strip_chars().unique())
            chosen |= is_chosen.to_numpy()
        if not self._known:
            self._known.update(names[-1].drop_nulls().head(NAMES_SHOWN))
        return chosen

    def require_one(self) -> None:
        """Once every row was seen: one name must have been meant."""
        if self._beginning and not self._found:
            raise InputError(
                f"{self._file}: no function or app begins with '{self._beginning}'; there is, for "
                f"example, {', '.join(sorted(self._known))}"
            )
        if len(self._found) > 1:
            raise InputError(
                f"{self._file}: {len(self._found)} functions and apps begin with "
                f"'{self._beginning}'; give more letters of {' or '.join(sorted(self._found)[:2])}"
            )


def _origin(first: float) -> float:
    """Where seconds are counted from: a clock's times from the first call."""
    return first if first >= CLOCK_FROM_SECONDS else 0.0


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.csv"))
    if not files:
        raise InputError(f"{path}: has no CSV files")
    return files


def _time_column(file: Path) -> str:
    try:
        return column_of(file, TIME_COLUMNS)
    except InputError as error:
        raise InputError(
            f"{error}. Traces of Azure have app, func, end_timestamp, duration, or HashApp, "
            "HashFunction, 1 to 1440"
        ) from error


def _wrong_count(cells: pl.DataFrame, counts: pl.DataFrame, file: Path, line: int) -> InputError:
    row, minute = next(
        (row, name)
        for name in counts.columns
        if (row := counts[name].is_null().arg_max()) is not None and counts[name][row] is None
    )
    cell = cells[minute][row] or ""
    return InputError(f"{file}:{line + row}: minute {minute} is '{cell}'; give a number of calls")
