"""A table in a text file: rows of cells under the names of their columns."""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass
from io import StringIO
from math import isfinite
from typing import TYPE_CHECKING

from prumo.errors import StudyError, did_you_mean
from prumo.study.problem import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from prumo.execute.table_mapping import TableFormat


@dataclass(frozen=True)
class Row:
    """One row, and where it stands."""

    file: Path
    line: int
    cells: dict[str, str]
    format: TableFormat

    def number(self, column: str) -> float | None:
        """The figure in a column; None where the cell says that there is none."""
        text = self.cells[column]
        if text in self.format.missing:
            return None
        try:
            number = float(self._with_point(text))
        except ValueError:
            number = float("nan")
        if not isfinite(number) or "_" in text:
            raise self.error(column, f"{shown(text)} is not a number{self._advice(text)}")
        return number

    def error(self, column: str, message: str) -> StudyError:
        """An error at a cell of this row."""
        return StudyError(message, file=self.file, line=self.line, key=column)

    def _with_point(self, text: str) -> str:
        if self.format.decimal == ".":
            return text
        # A point in a number with a decimal comma would divide thousands: nobody can be sure.
        return text.replace(",", ".") if "." not in text else ""

    def _advice(self, text: str) -> str:
        if self.format.decimal == "." and text.count(",") == 1:
            return "; with `decimal: ','` it would be"
        return "; name under `missing` what cells without a figure say"


@dataclass(frozen=True)
class Table:
    """The rows of one file."""

    file: Path
    sha256: str
    rows: tuple[Row, ...]


def read_table(file: Path, form: TableFormat, columns: Collection[str]) -> Table:
    """Read a file whose columns include these; StudyError names the file and the line."""
    try:
        content = file.read_bytes()
        # Unlike str.splitlines, a text file does not break lines at rare characters in a cell.
        lines = list(StringIO(content.decode("utf-8-sig"), newline=""))
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror or error}", file=file) from None
    except UnicodeDecodeError:
        raise StudyError("is not a text file in UTF-8", file=file) from None
    rows = tuple(_rows(file, lines, form, columns))
    if not rows:
        raise StudyError("has no rows below the names of its columns", file=file)
    return Table(file, hashlib.sha256(content).hexdigest(), rows)


def _rows(
    file: Path, lines: Sequence[str], form: TableFormat, columns: Collection[str]
) -> Iterator[Row]:
    numbered = _cells(file, lines, form)
    try:
        header_line, names = next(numbered)
    except StopIteration:
        raise StudyError("the file is empty", file=file) from None
    _require_columns(file, header_line, names, columns)
    for line, cells in numbered:
        if len(cells) != len(names):
            message = f"has {len(cells)} cells, and {len(names)} columns have names"
            raise StudyError(message, file=file, line=line)
        yield Row(file, line, dict(zip(names, cells, strict=True)), form)


def _cells(file: Path, lines: Sequence[str], form: TableFormat) -> Iterator[tuple[int, list[str]]]:
    """The cells of every line that is not blank, with its number."""
    reader = csv.reader(lines[form.skip_lines :], delimiter=form.delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield form.skip_lines + reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        line = form.skip_lines + reader.line_num
        raise StudyError(f"is not a table: {error}", file=file, line=line) from None


def _require_columns(file: Path, line: int, names: Sequence[str], columns: Collection[str]) -> None:
    for column in columns:
        if column not in names:
            hint = did_you_mean(column, filter(None, names))
            raise StudyError(f"has no column '{column}'; {hint}", file=file, line=line)
        if names.count(column) > 1:
            raise StudyError(f"has several columns '{column}'", file=file, line=line)
