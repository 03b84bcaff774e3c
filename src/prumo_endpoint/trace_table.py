"""Columns of a CSV file of times, read in blocks, so that the file may be larger than memory."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from prumo.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Times = NDArray[np.float64]

BLOCK_BYTES = 8 << 20
FIRST_LINE = 2
"""Of a file's rows, below the names of the columns."""
_CLOCK_UNTIL_SECONDS = 1e11
_BEGINNING = 4096
_CELL_SHOWN = 40
_ISO_8601 = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$"


def read_seconds(file: Path, columns: Sequence[str]) -> Times:
    """A column of seconds: the first of these that a CSV file has, or its only one."""
    column = column_of(file, columns)
    parts = [numbers_in(table[column], file, line) for line, table in tables_of(file, [column])]
    return np.concatenate([np.empty(0), *parts])


def header_of(file: Path) -> list[str]:
    """The names of a file's columns."""
    try:
        with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            beginning = lines.read(_BEGINNING)
            lines.seek(0)
            columns = [name.strip() for name in next(csv.reader(lines), [])]
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from error
    except csv.Error as error:
        raise InputError(f"{file}:1: is not CSV: {error}") from error
    if "\0" in beginning or not all(name.isprintable() for name in columns):
        raise InputError(f"{file}: is not text; give a CSV file in UTF-8, not compressed")
    if len(columns) == 1 and ";" in columns[0]:
        raise InputError(f"{file}:1: has semicolons, commas expected")
    if not any(columns):
        raise InputError(f"{file}: is empty; the first line names the columns")
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InputError(f"{file}:1: column '{twice}' is named twice")
    return columns


def column_of(file: Path, names: Sequence[str]) -> str:
    """The first of these columns that a file has, or its only one."""
    columns = header_of(file)
    if any(map(_is_number, columns)):
        raise InputError(f"{file}:1: the first line must name the columns, such as {names[0]}")
    known = [name for name in names if name in columns]
    if not known and len(columns) > 1:
        raise InputError(
            f"{file}:1: has none of the columns {', '.join(names)}, but {', '.join(columns[:6])}"
        )
    return known[0] if known else columns[0]


def tables_of(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, pl.DataFrame]]:
    """The columns as text, a block of lines at a time, with the number of the first line."""
    header = header_of(file)
    if missing := [name for name in columns if name not in header]:
        raise InputError(f"{file}:1: has no column '{missing[0]}', as the files before have")
    with file.open("rb") as lines:
        lines.readline()
        line = FIRST_LINE
        while block := lines.read(BLOCK_BYTES):
            block += lines.readline()
            text = block.rstrip() if len(block) < BLOCK_BYTES else block
            if text.strip():
                yield line, _table(text, header, columns, file, line)
            line += block.count(b"\n")


def times_in(cells: pl.Series, file: Path, line: int) -> Times:
    """Seconds, or timestamps as seconds since 1970; a block is of one kind."""
    if _is_number(str(cells[0]).strip()):
        return numbers_in(cells, file, line)
    text = cells.str.strip_chars()
    # Others are not guessed: 04/11/2026 is a day in April or in November.
    hint = "give seconds, or a time as ISO 8601 writes it, such as 2026-11-14T12:00:00Z"
    _require(text.str.contains(_ISO_8601).fill_null(False).to_numpy(), cells, file, line, hint)
    times = text.str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    seconds = (times.dt.timestamp("us") / 1e6).to_numpy()
    _require(~np.isnan(seconds), cells, file, line, hint)
    return np.asarray(seconds)


def numbers_in(cells: pl.Series, file: Path, line: int) -> Times:
    """Seconds since a start or since 1970."""
    numbers = cells.str.strip_chars().cast(pl.Float64, strict=False).to_numpy()
    _require(np.isfinite(numbers), cells, file, line, "give seconds, such as 12.5")
    _require(numbers >= 0, cells, file, line, "no time is before the start")
    _require(numbers < _CLOCK_UNTIL_SECONDS, cells, file, line, "give seconds, not milliseconds")
    return np.asarray(numbers)


def _table(
    text: bytes, header: Sequence[str], columns: Sequence[str], file: Path, line: int
) -> pl.DataFrame:
    try:
        schema = dict.fromkeys(header, pl.String)
        return pl.read_csv(io.BytesIO(text), has_header=False, schema=schema).select(columns)
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        try:
            rows = csv.reader(io.StringIO(text.decode("utf-8", "replace")))
            for number, row in enumerate(rows, start=line):
                if len(row) > len(header):
                    reason = f"has {len(row)} cells where the header has {len(header)}"
                    raise InputError(f"{file}:{number}: {reason}") from error
        except csv.Error as worse:
            reason = str(worse)
        raise InputError(f"{file}: is not CSV in UTF-8 after line {line}: {reason}") from error


def _require(
    is_right: NDArray[np.bool_], cells: pl.Series, file: Path, line: int, hint: str
) -> None:
    if not is_right.all():
        row = int(is_right.argmin())
        cell = (cells[row] or "")[:_CELL_SHOWN]
        raise InputError(f"{file}:{line + row}: {cells.name} is '{cell}'; {hint}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
