"""Arrival times of calls from a CSV file: a plain column of times, or a trace of Azure Functions.

Files are read in blocks, so that a trace that is sent call by call may be larger than memory; a
simulation holds the times of all calls. The format is recognised by its columns:

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

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from prumo.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Times = NDArray[np.float64]

DAY_SECONDS = 86_400.0
MINUTE_SECONDS = 60.0
MINUTES_OF_DAY = 1440
BLOCK_BYTES = 8 << 20
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
CLOCK_UNTIL_SECONDS = 1e11
# Eight bytes each: as many as a simulation can hold.
MOST_CALLS = 50_000_000
NAMES_SHOWN = 3
# Of a file's rows, below the names of the columns.
_FIRST_LINE = 2


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
        columns = set(_header(files[0]))
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


def read_seconds(file: Path, columns: Sequence[str]) -> Times:
    """A column of seconds: the first of these that a CSV file has, or its only one."""
    column = _column(file, columns)
    parts = [_numbers(table[column], file, line) for line, table in _tables(file, [column])]
    return np.concatenate([np.empty(0), *parts])


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
                if falls.size and line + falls[0] == _FIRST_LINE:
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
            (line, _times(table[column], file, line)) for line, table in _tables(file, [column])
        )
        if column != DUE_COLUMN or file.stat().st_size > LARGEST_SORTED_BYTES:
            yield from parts
        elif found := [times for _, times in parts]:
            yield _FIRST_LINE, np.sort(np.concatenate(found))


class _Azure2021(_Source):
    def __init__(self, files: Sequence[Path], selection: _Selection) -> None:
        self._files = files
        self._selection = selection

    def batches(self) -> Iterator[Times]:
        parts = [np.empty(0)]
        for file in self._files:
            for line, table in _tables(file, sorted(AZURE_2021)):
                end = _numbers(table["end_timestamp"], file, line)
                duration = _numbers(table["duration"], file, line)
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
        header = set(_header(file))
        minutes = [name for name in map(str, range(1, MINUTES_OF_DAY + 1)) if name in header]
        totals = np.zeros(MINUTES_OF_DAY, dtype=np.int64)
        for line, table in _tables(file, ["HashApp", "HashFunction", *minutes]):
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


def _header(file: Path) -> list[str]:
    try:
        with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            columns = [name.strip() for name in next(csv.reader(lines), [])]
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except csv.Error as error:
        raise InputError(f"{file}:1: is not CSV: {error}") from error
    if not any(columns):
        raise InputError(f"{file}: is empty; the first line names the columns")
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InputError(f"{file}:1: column '{twice}' is named twice")
    return columns


def _time_column(file: Path) -> str:
    try:
        return _column(file, TIME_COLUMNS)
    except InputError as error:
        raise InputError(
            f"{error}. Traces of Azure have app, func, end_timestamp, duration, or HashApp, "
            "HashFunction, 1 to 1440"
        ) from error


def _column(file: Path, names: Sequence[str]) -> str:
    columns = _header(file)
    if any(map(_is_number, columns)):
        raise InputError(f"{file}:1: the first line must name the columns, such as {names[0]}")
    known = [name for name in names if name in columns]
    if not known and len(columns) > 1:
        raise InputError(
            f"{file}:1: has none of the columns {', '.join(names)}, but {', '.join(columns[:6])}"
        )
    return known[0] if known else columns[0]


def _tables(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, pl.DataFrame]]:
    """The columns as text, a block of lines at a time, with the number of the first line."""
    header = _header(file)
    if missing := [name for name in columns if name not in header]:
        raise InputError(f"{file}:1: has no column '{missing[0]}', as the files before have")
    with file.open("rb") as lines:
        lines.readline()
        line = _FIRST_LINE
        while block := lines.read(BLOCK_BYTES):
            block += lines.readline()
            text = block.rstrip() if len(block) < BLOCK_BYTES else block
            if text.strip():
                yield line, _table(text, header, columns, file, line)
            line += block.count(b"\n")


def _table(
    text: bytes, header: Sequence[str], columns: Sequence[str], file: Path, line: int
) -> pl.DataFrame:
    try:
        schema = dict.fromkeys(header, pl.String)
        return pl.read_csv(io.BytesIO(text), has_header=False, schema=schema).select(columns)
    except pl.exceptions.PolarsError as error:
        rows = csv.reader(io.StringIO(text.decode("utf-8", "replace")))
        for number, row in enumerate(rows, start=line):
            if len(row) > len(header):
                raise InputError(
                    f"{file}:{number}: has {len(row)} cells where the header has {len(header)}"
                ) from error
        reason = str(error).partition("\n")[0]
        raise InputError(f"{file}: is not CSV in UTF-8 after line {line}: {reason}") from error


def _times(cells: pl.Series, file: Path, line: int) -> Times:
    """Seconds, or timestamps as seconds since 1970; a block is of one kind."""
    if _is_number(str(cells[0]).strip()):
        return _numbers(cells, file, line)
    times = cells.str.strip_chars().str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    seconds = (times.dt.timestamp("us") / 1e6).to_numpy()
    _require(~np.isnan(seconds), cells, file, line, "give seconds, or 2026-11-14T12:00:00Z")
    return np.asarray(seconds)


def _numbers(cells: pl.Series, file: Path, line: int) -> Times:
    numbers = cells.str.strip_chars().cast(pl.Float64, strict=False).to_numpy()
    _require(np.isfinite(numbers), cells, file, line, "give seconds, such as 12.5")
    _require(numbers >= 0, cells, file, line, "no time is before the start")
    _require(numbers < CLOCK_UNTIL_SECONDS, cells, file, line, "give seconds, not milliseconds")
    return np.asarray(numbers)


def _require(
    is_right: NDArray[np.bool_], cells: pl.Series, file: Path, line: int, hint: str
) -> None:
    if not is_right.all():
        row = int(is_right.argmin())
        raise InputError(f"{file}:{line + row}: {cells.name} is '{cells[row] or ''}'; {hint}")


def _wrong_count(cells: pl.DataFrame, counts: pl.DataFrame, file: Path, line: int) -> InputError:
    row, minute = next(
        (row, name)
        for name in counts.columns
        if (row := counts[name].is_null().arg_max()) is not None and counts[name][row] is None
    )
    cell = cells[minute][row] or ""
    return InputError(f"{file}:{line + row}: minute {minute} is '{cell}'; give a number of calls")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
