"""A results folder as tables: runs, samples, steps, epochs, failures."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from prumo.errors import InputError, PrumoError, did_you_mean
from prumo.results.columns import (
    IDENTITY_COLUMNS,
    OUTCOME_COLUMNS,
    RESERVED,
    conditions_of,
    free_name,
)
from prumo.results.equality import read_equality
from prumo.results.folder import PLAN_FILE, RECORD_FILE, STUDY_FILE, ResultsFolder, read_record
from prumo.results.record import Verdict
from prumo.results.run_files import read_profile, read_usage, scan_epochs, scan_samples, scan_steps
from prumo.study import Rule, level_text, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prumo.results.equality import Equality
    from prumo.results.record import RunRecord, Spread
    from prumo.results.run_files import Profile, Usage
    from prumo.study import Level, Study


def read_study(results: Path) -> Study:
    """The study as it was run, with the user's own networks as its plan keeps them.

    Somebody else may have made the folder, so no program that the study names is run.

    Raises:
        StudyError: The study cannot be read, or one of its networks is not in the plan.
    """
    networks = read_plan(results).get("networks")
    kept = networks if isinstance(networks, dict) else {}
    return load(
        results / STUDY_FILE,
        {name: layers for name, layers in kept.items() if isinstance(layers, list)},
    )


def read_plan(results: Path) -> dict[str, Any]:
    """How the study was ordered, and its own networks; empty without a whole plan.json."""
    try:
        plan = json.loads((results / PLAN_FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return plan if isinstance(plan, dict) else {}


@dataclass(frozen=True)
class Unreadable:
    """A folder whose record is there and cannot be used."""

    path: Path
    reason: str
    is_run: bool = True
    """Whether the folder is named as a run; if not, it is a copy that somebody made."""


class Results:
    """The results of a study, read in place.

    >>> results = Results("results/demo")  # doctest: +SKIP
    >>> results.runs()  # doctest: +SKIP
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        folder = _existing(self.path)
        strays = folder.stray_paths()
        records, unreadable, unfinished = [], [], []
        for run_path in [*folder.run_paths(), *strays]:
            try:
                record = read_record(run_path)
            except PrumoError as error:
                is_run = run_path not in strays
                unreadable.append(Unreadable(run_path / RECORD_FILE, str(error), is_run))
                continue
            if record is None:
                unfinished.append(run_path.name)
            else:
                records.append((run_path, record))
        records.sort(key=lambda item: _place(item[1]))
        self._paths = {record.run: run_path for run_path, record in records}
        self.records = tuple(record for _, record in records)
        """The runs that have a verdict, by scenario and replication."""
        self.unreadable = tuple(unreadable)
        self.unfinished = tuple(unfinished)
        """Runs without a record: still running, or stopped before their end."""

    @property
    def study_name(self) -> str:
        """The study's name, from the study or its runs or else the folder."""
        if self.study is not None:
            return self.study.name
        return self.records[0].study if self.records else self.path.resolve().name

    @cached_property
    def study(self) -> Study | None:
        """The study as it was run, where its file is there and can be read."""
        try:
            return read_study(self.path)
        except PrumoError:
            return None

    @cached_property
    def plan(self) -> dict[str, Any]:
        """How the study was ordered and its own networks, as plan.json says; empty without one."""
        return read_plan(self.path)

    @cached_property
    def equality(self) -> Equality | None:
        """Whether the study's frameworks train the same networks; None where nobody checked."""
        return read_equality(self.path)

    @property
    def spreads(self) -> dict[str, Mapping[str, Spread]]:
        """Scenario → metric → what was published of its spread, where a run is a summary."""
        return {record.scenario: record.spreads for record in self.records if record.spreads}

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The names of the factor columns, in the order of the study."""
        taken = set(RESERVED)
        return tuple(free_name(name, "factor", taken) for name in self._factor_names)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metric columns: of the runs, the wall time, then of the samples."""
        before = {*IDENTITY_COLUMNS, *self.factors, *OUTCOME_COLUMNS} - {"wall_seconds"}
        return tuple(name for name in self._runs.columns if name not in before)

    def runs(self) -> pl.DataFrame:
        """One row per run that ended: factors, verdict, reason, wall time, order, metrics."""
        return self._runs

    def failures(self) -> pl.DataFrame:
        """The runs that gave no figures, with their reasons."""
        failed = self._runs.filter(pl.col("verdict") != Verdict.FINISHED.value)
        return failed.select(*IDENTITY_COLUMNS, *self.factors, *OUTCOME_COLUMNS)

    def samples(self, run: str | Sequence[str] | None = None) -> pl.LazyFrame:
        """What the sampler saw in one run, in some or in all that ended; `.collect()` reads it."""
        return scan_samples(self._run_paths(run))

    def usage_over_time(self) -> pl.DataFrame:
        """What each run used in equal spans of its time; `results.usage` says how many."""
        return self._usage.over_time

    def steps(self, run: str | Sequence[str] | None = None) -> pl.LazyFrame:
        """The steps of one run, of some or of all that ended; epoch 0 is warm-up."""
        return scan_steps(self._run_paths(run))

    def epochs(self, run: str | Sequence[str] | None = None) -> pl.LazyFrame:
        """The epochs of one run, of some or of all that ended."""
        return scan_epochs(self._run_paths(run))

    def profiles(self) -> dict[str, Profile]:
        """What the framework's profiler saw, of each run that has a profile."""
        found = {run: read_profile(path) for run, path in self._paths.items()}
        return {run: profile for run, profile in found.items() if profile is not None}

    def conditions(self) -> pl.DataFrame:
        """Per run: on which machine, versions and data it ran, and what watching it cost."""
        return conditions_of(self.records, self._usage.per_run)

    def _run_paths(self, run: str | Sequence[str] | None) -> Iterable[Path]:
        if run is None:
            return self._paths.values()
        names = [run] if isinstance(run, str) else run
        for name in names:
            if name not in self._paths:
                hint = did_you_mean(name, self._paths)
                raise InputError(f"{self.path} has no run '{name}': {hint}")
        return [self._paths[name] for name in names]

    @property
    def _factor_names(self) -> list[str]:
        names = dict.fromkeys(self.study.factors if self.study is not None else ())
        for record in self.records:
            names.update(dict.fromkeys(record.factors))
        return list(names)

    @cached_property
    def _usage(self) -> Usage:
        return read_usage(self._paths.values())

    @cached_property
    def _runs(self) -> pl.DataFrame:
        columns = [
            pl.Series("run", [record.run for record in self.records], pl.String),
            pl.Series("scenario", [record.scenario for record in self.records], pl.String),
            pl.Series("replication", [record.replication for record in self.records], pl.Int64),
            *(
                _level_series(column, [record.factors.get(name) for record in self.records])
                for column, name in zip(self.factors, self._factor_names, strict=True)
            ),
            pl.Series("verdict", [record.verdict.value for record in self.records], pl.String),
            pl.Series("reason", [record.reason for record in self.records], pl.String),
            pl.Series("wall_seconds", [r.wall_seconds for r in self.records], pl.Float64),
            pl.Series("order", [record.order for record in self.records], pl.Int64),
        ]
        taken = {column.name for column in columns}
        stated = dict.fromkeys(name for record in self.records for name in record.metrics)
        for name in stated:
            values = [_finite(record.metrics.get(name)) for record in self.records]
            columns.append(pl.Series(free_name(name, "metric", taken), values, pl.Float64))
        runs = pl.DataFrame(columns)
        # What a run states of itself counts before what is computed from its samples.
        per_run = self._usage.per_run
        sampled = [name for name in per_run.columns if name != "run" and name not in stated]
        usage = per_run.select(
            "run", *(pl.col(name).alias(free_name(name, "metric", taken)) for name in sampled)
        )
        return runs.join(usage, on="run", how="left", maintain_order="left")


def _existing(path: Path) -> ResultsFolder:
    try:
        return ResultsFolder.existing(path)
    except InputError as error:
        studies = sorted(found.parent.name for found in path.glob("*/runs") if found.is_dir())
        if not studies:
            raise
        raise InputError(f"{path} holds several studies; give one: {', '.join(studies)}") from error


def _place(record: RunRecord) -> tuple[int, str, int]:
    number = record.scenario[1:]
    return (int(number) if number.isdecimal() else 0, record.scenario, record.replication)


def _level_series(name: str, levels: Sequence[Level | None]) -> pl.Series:
    kinds = {type(level) for level in levels if level is not None}
    if len(kinds) == 1 and kinds <= {bool, int, float, str}:
        return pl.Series(name, levels)
    if kinds and kinds <= {int, float}:
        return pl.Series(name, levels, pl.Float64, strict=False)
    texts = [None if level is None else level_text(level) for level in levels]
    return pl.Series(name, texts, pl.String)


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def runs_where(results: Results, rule: str) -> pl.DataFrame:
    """The runs of scenarios for which a rule such as `batch_size <= 64` holds; all without one."""
    if not rule:
        return results.runs()
    if results.study is None:
        raise InputError(f"{results.path} has no study that says what '{rule}' is about")
    condition = Rule.parse(rule, results.study)
    names = [record.run for record in results.records if condition.holds(record.parameters)]
    if not names:
        raise InputError(f"no run in {results.path} satisfies '{rule}'")
    return results.runs().filter(pl.col("run").is_in(names))
