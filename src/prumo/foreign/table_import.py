"""Bring the tables of other people's measurements into a results folder, as a mapping says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, StudyError, did_you_mean
from prumo.foreign.table_mapping import (
    FactorSource,
    MetricSource,
    Row,
    Table,
    TableMapping,
    read_table,
    unit_factor,
)
from prumo.money.study_prices import keep_prices
from prumo.results.folder import require_absent, write_results
from prumo.results.record import RunRecord, Spread, Verdict
from prumo.study import Level, Run, Study, fingerprint, level_text
from prumo.study.design import MOST_LISTED
from prumo.study.model import Origin
from prumo.version import __version__

if TYPE_CHECKING:
    from prumo.study.document import SectionFile


def import_tables(mapping: SectionFile[TableMapping], folder: Path, results: Path) -> TableImport:
    """Make a study of the files in a folder that a mapping names.

    All are checked before anything is written. The results folder must not be there yet.
    """
    require_absent(results)
    rows = read_measurements(mapping, folder)
    measured = [row for row in rows if row.metrics]
    if not measured:
        raise InputError(f"no row of the files in {folder} has a figure")
    factors = {
        name: _factor(name, source, measured) for name, source in mapping.section.factors.items()
    }
    study = _study(mapping, factors)
    records = tuple(_records(mapping.section, study, measured, factors))
    plan = {"prumo": __version__, "imported_with": mapping.file.name}
    write_results(results, study.text, plan, records)
    return TableImport(
        study,
        records,
        left_out=tuple(row.source for row in rows if not row.metrics),
        remarks=tuple(keep_prices(study, results)),
    )


@dataclass(frozen=True)
class _Factor:
    levels: tuple[Level, ...]
    called: dict[str, Level]
    """As the files call a level → the level."""


def _factor(name: str, source: FactorSource, measured: Sequence[Measurement]) -> _Factor:
    first = {row.levels[name]: row for row in reversed(measured)}
    met = list(dict.fromkeys(row.levels[name] for row in measured))
    if "" in first and "" not in source.rename:
        raise first[""].error(f"has no level of {name}; `rename` can say what an empty one means")
    as_met = [text for text in met if text not in source.rename]
    typed: list[Level] = [_number(text) for text in as_met]
    if any(isinstance(level, str) for level in typed):
        typed = [*as_met]
    called = dict(zip(as_met, typed, strict=True)) | {
        text: level for text, level in source.rename.items() if text in first
    }
    if not source.levels:
        return _Factor(tuple(dict.fromkeys(called[text] for text in met)), called)
    known = {level_text(level): level for level in source.levels}
    for text in met:
        level = level_text(called[text])
        if level not in known:
            hint = did_you_mean(level, known)
            raise first[text].error(f"{level!r} is not a level of {name}; {hint}")
    return _Factor(source.levels, {text: known[level_text(called[text])] for text in met})


def _number(text: str) -> Level:
    """The number in a text, if it would be written the same way; else the text."""
    for kind in (int, float):
        with suppress(ValueError):
            number = kind(text)
            if str(number) == text and isfinite(number):
                return number
    return text


def _study(mapping: SectionFile[TableMapping], factors: Mapping[str, _Factor]) -> Study:
    told = mapping.section
    if prod(len(factor.levels) for factor in factors.values()) > MOST_LISTED:
        raise mapping.error(("factors",), f"make more than {MOST_LISTED} scenarios")
    data: dict[str, Any] = {
        "name": told.name,
        "workload": {"kind": "imported"} | ({"source": told.source} if told.source else {}),
        "factors": {name: list(factor.levels) for name, factor in factors.items()},
    }
    optional = told.model_dump(include={"description", "fixed", "machines", "cost"})
    data |= {key: value for key, value in optional.items() if value}
    return Study.from_dict(data, Origin(source=mapping.file, lines=mapping.lines))


def _records(
    mapping: TableMapping,
    study: Study,
    measured: Sequence[Measurement],
    factors: Mapping[str, _Factor],
) -> Iterator[RunRecord]:
    scenarios = {_key(scenario.factors): scenario for scenario in study.scenarios()}
    marks: dict[str, str] = {}
    replications: Counter[str] = Counter()
    for order, row in enumerate(measured, start=1):
        levels = {name: factors[name].called[text] for name, text in row.levels.items()}
        scenario = scenarios[_key(levels)]
        replications[scenario.name] += 1
        if mapping.rows == "summaries" and replications[scenario.name] > 1:
            told = ", ".join(f"{name} {level_text(level)}" for name, level in levels.items())
            raise row.error(f"a second summary of {told}; a factor is missing that differs")
        if scenario.name not in marks:
            marks[scenario.name] = fingerprint(study, scenario)
        run = Run(scenario, replications[scenario.name])
        yield RunRecord(
            run=run.name,
            scenario=scenario.name,
            replication=run.replication,
            study=study.name,
            factors=dict(scenario.factors),
            parameters=dict(scenario.parameters),
            fingerprint=marks[scenario.name],
            verdict=Verdict.FINISHED,
            imported=f"csv {row.source}",
            log_sha256=row.sha256,
            order=order,
            metrics=row.metrics,
            spreads=row.spreads,
        )


def _key(levels: Mapping[str, Level]) -> tuple[str, ...]:
    return tuple(level_text(level) for level in levels.values())


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
    columns = [factor.column for factor in mapping.section.factors.values()]
    for metric in mapping.section.metrics.values():
        counted = metric.n if isinstance(metric.n, str) else None
        columns += [metric.column, metric.standard_deviation, counted]
    needed = list(dict.fromkeys(column for column in columns if column is not None))
    levels = {
        file: _levels_of_name(mapping, file.relative_to(folder).as_posix())
        for file in _found_files(mapping, folder)
    }
    tables = [read_table(file, mapping.section.table, needed) for file in levels]
    known: dict[str, Path] = {}
    for table in tables:
        if (twin := known.setdefault(table.sha256, table.file)) != table.file:
            raise InputError(
                f"{table.file} and {twin} are the same file, so its rows would count twice"
            )
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


@dataclass(frozen=True)
class TableImport:
    """What became of the tables."""

    study: Study
    records: tuple[RunRecord, ...]
    left_out: tuple[str, ...]
    """Rows without any figure, as FILE:LINE."""
    remarks: tuple[str, ...]
    """What a user should know, such as a price that nobody knows."""
