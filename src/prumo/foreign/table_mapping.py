"""How the tables of somebody else's measurements become a study: the mapping file."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema

from prumo.errors import StudyError, did_you_mean
from prumo.study.document import SectionFile, read_section
from prumo.study.section import (
    LevelField,
    Problem,
    Section,
    Text,
    WholeNumber,
    refused,
    shown,
    study_error,
    written_as,
)

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
UNITS = {"_seconds": _SECONDS, "_bytes": _BYTES}
"""How a metric's name ends → the units that its column may have, in the unit of the metric."""


def load_mapping(file: Path) -> SectionFile[TableMapping]:
    """Read and check a mapping; StudyError names the file, the lines and the keys."""
    mapping = read_section(file, TableMapping, "a mapping")
    if found := list(_problems(mapping.section)):
        raise study_error(found, mapping.lines, file)
    return mapping


def _as_column(value: Any) -> Any:  # noqa: ANN401 (not yet checked)
    """Read `model: Model` as `model: {column: Model}`, and `model:` as nothing more to say."""
    if value is None:
        return {}
    return {"column": value} if isinstance(value, str) else value


def _checked_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise refused(f"is not a regular expression: {error}") from None
    return pattern


def _checked_count(value: object) -> str | int:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise refused("should be a number of 1 or more, or the column that tells it")


Name = Annotated[
    Text, written_as(r"[a-z][a-z0-9_]*", "lower-case letters, digits and _, as full_seconds")
]


class TableFormat(Section):
    """How the files are written."""

    delimiter: Annotated[Text, Field(min_length=1, max_length=1)] = ","
    """What stands between cells."""
    decimal: Literal[".", ","] = "."
    """What stands between a number's whole part and its fraction."""
    skip_lines: Annotated[WholeNumber, Field(ge=0)] = 0
    """Lines above the one that names the columns."""
    missing: tuple[Text, ...] = ()
    """What a cell without a figure says, such as `-`; a row of such cells alone is left out."""


class FactorSource(Section):
    """Where the levels of a factor are found."""

    column: Text | None = None
    """The column; without one, the group of the factor's name in `file_name`."""
    rename: dict[Text, LevelField] = Field(default_factory=dict)
    """As the files call a level → as the study does."""
    levels: tuple[LevelField, ...] = ()
    """All levels, in their order; as met in the files, where nothing is said."""


class MetricSource(Section):
    """Where the figures of a metric are found."""

    column: Text
    """The column; of means, where rows are summaries."""
    unit: Text | None = None
    """The unit of the column, where it is not that of the metric: ms, MiB."""
    standard_deviation: Text | None = None
    """The column of sample standard deviations, where rows are summaries."""
    n: Annotated[
        str | int | None,
        PlainValidator(_checked_count),
        WithJsonSchema({"type": ["string", "integer"]}),
    ] = None
    """How many measurements a row sums up: a number, or the column that tells it."""


Factor = Annotated[FactorSource, BeforeValidator(_as_column)]
Metric = Annotated[MetricSource, BeforeValidator(_as_column)]


class TableMapping(Section):
    """Which files, which of their columns, and what the study made of them says of itself."""

    name: Text
    """The study's name."""
    description: Text = ""
    """The study's description."""
    source: Text = ""
    """Where the figures were published."""
    files: Annotated[Text, Field(min_length=1)] = "*.csv"
    """Which files of the folder are read, with * and ** as in a shell."""
    file_name: Annotated[Text, AfterValidator(_checked_pattern)] | None = None
    """A regular expression for a file's whole name; a named group gives the level of a factor."""
    table: TableFormat = TableFormat()
    """How the files are written."""
    rows: Literal["runs", "summaries"] = "runs"
    """Whether a row is one run, or the mean of several."""
    factors: Annotated[dict[Name, Factor], Field(min_length=1)]
    """Factor → where its levels are found; the last varies fastest."""
    metrics: Annotated[dict[Name, Metric], Field(min_length=1)]
    """Metric → where its figures are found."""
    fixed: dict[Text, LevelField] = Field(default_factory=dict)
    """Parameters that were the same in every run."""
    machines: dict[Text, Any] = Field(default_factory=dict)
    """The study's machines, with their prices."""
    cost: dict[Text, Any] = Field(default_factory=dict)
    """The study's cost section."""


def unit_factor(metric: str, unit: str | None) -> float:
    """What a figure of a column is multiplied with to be in the metric's own unit."""
    return 1.0 if unit is None else _units(metric)[unit]


def _problems(mapping: TableMapping) -> Iterator[Problem]:
    """What is wrong between the sections of a mapping."""
    groups = set(re.compile(mapping.file_name).groupindex) if mapping.file_name else set[str]()
    for name in sorted(groups - mapping.factors.keys()):
        hint = did_you_mean(name, mapping.factors)
        yield Problem(("file_name",), f"has a group '{name}', which is no factor; {hint}")
    for name, factor in mapping.factors.items():
        if (factor.column is None) == (name not in groups):
            yield Problem(
                ("factors", name),
                "needs one source: a `column`, or a group of its name in `file_name` such as "
                f"(?P<{name}>[^-]+)",
            )
    for name, metric in mapping.metrics.items():
        if name in mapping.factors:
            yield Problem(("metrics", name), "is also a factor; it can only be one of the two")
        told = metric.standard_deviation is not None or metric.n is not None
        if told and mapping.rows == "runs":
            yield Problem(("metrics", name), "has a spread, so `rows` should be summaries")
        units = _units(name)
        if metric.unit is not None and metric.unit not in units:
            hint = f"'{metric.unit}' is not known; {did_you_mean(metric.unit, units)}"
            if not units:
                hint = f"only metrics whose name ends in {' or '.join(UNITS)} have one"
            yield Problem(("metrics", name, "unit"), hint)


def _units(metric: str) -> dict[str, float]:
    return next((units for end, units in UNITS.items() if metric.endswith(end)), {})


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
        has_comma = self.format.decimal == ","
        # A point in a number with a decimal comma would divide thousands: nobody can be sure.
        is_sure = "_" not in text and not (has_comma and "." in text)
        try:
            number = float(text.replace(",", ".") if has_comma else text)
        except ValueError:
            number = float("nan")
        if isfinite(number) and is_sure:
            return number
        advice = "name under `missing` what cells without a figure say"
        if not has_comma and text.count(",") == 1:
            advice = "with `decimal: ','` it would be"
        raise self.error(column, f"{shown(text)} is not a number; {advice}")

    def error(self, column: str, message: str) -> StudyError:
        """An error at a cell of this row."""
        return StudyError(message, file=self.file, line=self.line, key=column)


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
    header_line, names = next(numbered, (0, []))
    if not names:
        raise StudyError("the file is empty", file=file)
    for column in columns:
        if column not in names:
            hint = did_you_mean(column, filter(None, names))
            raise StudyError(f"has no column '{column}'; {hint}", file=file, line=header_line)
        if names.count(column) > 1:
            raise StudyError(f"has several columns '{column}'", file=file, line=header_line)
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
