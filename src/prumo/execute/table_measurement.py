"""The rows of foreign tables as measurements: whose levels, which figures, from which line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from prumo.errors import InputError, StudyError
from prumo.execute.table import Row, Table, read_table
from prumo.execute.table_mapping import unit_factor
from prumo.results.record import Spread

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from prumo.execute.table_mapping import MetricSource, TableMapping
    from prumo.study.document import SectionFile


@dataclass(frozen=True)
class Measurement:
    """One row, understood as far as it can be without the others."""

    row: Row
    source: str
    """The row's file as found in the folder, and its line."""
    sha256: str
    """Of the file."""
    levels: dict[str, str]
    """Factor → its level as the file calls it."""
    metrics: dict[str, float]
    spreads: dict[str, Spread]

    def error(self, message: str) -> StudyError:
        """An error about the whole row."""
        return StudyError(message, file=self.row.file, line=self.row.line)


def read_measurements(mapping: SectionFile[TableMapping], folder: Path) -> list[Measurement]:
    """Every row of the files that a mapping names, file by file in the order of their names."""
    columns = _columns(mapping.section)
    levels = {
        file: _levels_of_name(mapping, file.relative_to(folder).as_posix())
        for file in _found_files(mapping, folder)
    }
    tables = [read_table(file, mapping.section.table, columns) for file in levels]
    _refuse_twins(tables)
    return [
        _measurement(mapping.section, table, row, levels[table.file], folder)
        for table in tables
        for row in table.rows
    ]


def _found_files(mapping: SectionFile[TableMapping], folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the one that holds the files to import")
    pattern = mapping.section.files
    try:
        files = sorted(path for path in folder.glob(pattern) if path.is_file())
    except (ValueError, NotImplementedError) as error:
        raise mapping.error(("files",), f"cannot be looked for: {error}") from None
    if not files:
        raise mapping.error(("files",), f"no file in {folder} is called '{pattern}'")
    return files


def _levels_of_name(mapping: SectionFile[TableMapping], name: str) -> dict[str, str]:
    pattern = mapping.section.file_name
    if pattern is None:
        return {}
    match = re.fullmatch(pattern, name)
    if match is None:
        raise mapping.error(
            ("file_name",), f"does not match '{name}'; correct it, or let `files` leave it out"
        )
    absent = [group for group, text in match.groupdict().items() if text is None]
    if absent:
        raise mapping.error(("file_name",), f"finds no {absent[0]} in '{name}'")
    return match.groupdict()


def _columns(mapping: TableMapping) -> list[str]:
    columns = [factor.column for factor in mapping.factors.values()]
    for metric in mapping.metrics.values():
        counted = metric.n if isinstance(metric.n, str) else None
        columns += [metric.column, metric.standard_deviation, counted]
    return list(dict.fromkeys(column for column in columns if column is not None))


def _refuse_twins(tables: list[Table]) -> None:
    known: dict[str, Path] = {}
    for table in tables:
        if table.sha256 in known:
            twin = known[table.sha256]
            raise InputError(
                f"{table.file} and {twin} are the same file, so its rows would count twice"
            )
        known[table.sha256] = table.file


def _measurement(
    mapping: TableMapping, table: Table, row: Row, of_name: Mapping[str, str], folder: Path
) -> Measurement:
    metrics, spreads = {}, {}
    for name, metric in mapping.metrics.items():
        figure = row.number(metric.column)
        if figure is None:
            continue
        factor = unit_factor(name, metric.unit)
        metrics[name] = figure * factor
        if not isfinite(metrics[name]):
            raise row.error(metric.column, f"{figure:g} {metric.unit} is beyond all figures")
        if mapping.rows == "summaries":
            spreads[name] = _spread(row, metric, factor)
    return Measurement(
        row=row,
        source=f"{row.file.relative_to(folder).as_posix()}:{row.line}",
        sha256=table.sha256,
        levels={
            name: of_name[name] if source.column is None else row.cells[source.column]
            for name, source in mapping.factors.items()
        },
        metrics=metrics,
        spreads=spreads,
    )


def _spread(row: Row, metric: MetricSource, factor: float) -> Spread:
    column = metric.standard_deviation
    deviation = None if column is None else row.number(column)
    if deviation is not None and deviation < 0:
        raise row.error(str(column), "a standard deviation is not negative")
    n = row.number(metric.n) if isinstance(metric.n, str) else metric.n
    if n is not None and (n < 1 or n != int(n)):
        raise row.error(str(metric.n), f"{n:g} is not a number of measurements")
    return Spread(
        n=None if n is None else int(n),
        standard_deviation=None if deviation is None else deviation * factor,
    )
