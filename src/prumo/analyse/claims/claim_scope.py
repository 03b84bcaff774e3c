"""Which scenarios a claim is about, and their measurements. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import polars as pl

from prumo.analyse.claims.claim_figure import Group
from prumo.errors import InputError, did_you_mean
from prumo.results.column import IDENTITY_COLUMNS, OUTCOME_COLUMNS
from prumo.results.record import Spread
from prumo.study import level_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prumo.study import Level

Levels = dict[str, str]

MOST_SCOPES = 10_000


@dataclass(frozen=True)
class Scope:
    """Levels of the scenarios that a claim is about, and of those that it compares with."""

    one: Levels
    other: Levels
    """Empty where nothing is compared."""

    @property
    def apart(self) -> list[str]:
        """The factors in which the two sides differ."""
        return [name for name, level in self.other.items() if self.one[name] != level]

    def changes(self, origin: Scope) -> int:
        """How many levels another scope has to change to become this one."""
        sides = ((self.one, origin.one), (self.other, origin.other))
        return sum(side[name] != was[name] for side, was in sides for name in side)


class Scenarios:
    """The finished runs of a study, by their levels."""

    def __init__(
        self,
        runs: pl.DataFrame,
        planned: Mapping[str, Sequence[Level]],
        spreads: Mapping[str, Mapping[str, Spread]],
    ) -> None:
        """Take the runs of a study.

        Args:
            runs: a row per run, with the factors and the metrics.
            planned: factor → the levels that the study plans, measured or not.
            spreads: scenario → metric → what a published summary tells, where a run is one.
        """
        factors = list(planned)
        finished = runs.filter(pl.col("verdict") == "finished")
        known = {*IDENTITY_COLUMNS, *OUTCOME_COLUMNS, *factors} - {"wall_seconds"}
        self._metrics = [name for name in runs.columns if name not in known]
        self._tables = [
            (str(scenario), _levels(table, factors), table)
            for (scenario,), table in finished.group_by("scenario", maintain_order=True)
        ]
        self._spreads = spreads
        self._groups: dict[str, list[Group]] = {}
        rows = runs.select(factors).unique(maintain_order=True)
        self.levels = {
            factor: list(dict.fromkeys(map(_level, [*levels, *rows[factor]])))
            for factor, levels in planned.items()
        }

    def require_metric(self, name: str) -> None:
        """Refuse a metric that no run has."""
        if name in self._metrics:
            return
        if name.startswith("cost") and not any(has.startswith("cost") for has in self._metrics):
            raise InputError("these results have no prices; `prumo reprice` gives them some")
        raise InputError(f"no run has a metric '{name}': {did_you_mean(name, self._metrics)}")

    def level(self, factor: str, text: str) -> str:
        """A level as the results write it: 0.10 is 0.1, and yes is no level."""
        if factor not in self.levels:
            raise InputError(f"no such factor; {did_you_mean(factor, self.levels)}")
        for level in self.levels[factor]:
            if _canonical(level) == _canonical(text):
                return level
        known = self.levels[factor]
        raise InputError(f"'{text}' is not a level of {factor}; {did_you_mean(text, known)}")

    def groups(self, metric: str, levels: Mapping[str, str]) -> list[Group]:
        """The scenarios with these levels that have figures of a metric."""
        if metric not in self._groups:
            self._groups[metric] = list(self._all_groups(metric))
        return [group for group in self._groups[metric] if levels.items() <= group.levels.items()]

    def pairs(self, metric: str, scope: Scope) -> list[tuple[Group, Group]]:
        """Scenarios of the two sides that differ in nothing else."""
        others = {tuple(group.levels.values()): group for group in self.groups(metric, scope.other)}
        changed = {name: scope.other[name] for name in scope.apart}
        found = (
            (group, others.get(tuple({**group.levels, **changed}.values())))
            for group in self.groups(metric, scope.one)
        )
        return [(group, other) for group, other in found if other is not None]

    def other_scopes(self, scope: Scope) -> list[Scope]:
        """Scopes of the same form with other levels, those with the fewest changes first."""
        choices = {name: self.levels[name] for name in scope.one}
        sides = [*choices.values(), *(choices[name] for name in scope.apart)]
        if prod(map(len, sides)) > MOST_SCOPES:
            return []
        found = [other for other in _scopes(choices, scope.apart) if other != scope]
        return sorted(found, key=lambda other: other.changes(scope))

    def _all_groups(self, metric: str) -> Iterator[Group]:
        for scenario, levels, table in self._tables:
            column = table[metric].cast(pl.Float64).drop_nulls()
            if values := column.filter(column.is_finite()).to_list():
                yield Group(scenario, levels, tuple(values), self._spread(scenario, metric))

    def _spread(self, scenario: str, metric: str) -> Spread | None:
        told = self._spreads.get(scenario)
        # What follows from a summary's mean, as its cost does, is no single measurement either.
        return told.get(metric, Spread()) if told else None


def _scopes(choices: Mapping[str, Sequence[str]], apart: Sequence[str]) -> Iterator[Scope]:
    """Every choice of levels, the two sides differing in just these factors."""
    for levels in product(*choices.values()):
        one = dict(zip(choices, levels, strict=True))
        for others in product(*(choices[name] for name in apart)):
            changed = dict(zip(apart, others, strict=True))
            if all(one[name] != level for name, level in changed.items()):
                yield Scope(one, {**one, **changed} if apart else {})


def _levels(table: pl.DataFrame, factors: Sequence[str]) -> Levels:
    row = table.row(0, named=True)
    return {name: _level(row[name]) for name in factors}


def _level(level: Level | None) -> str:
    """A level as text, the same whether a column of numbers has made a fraction of it or not."""
    if level is None:
        return ""
    is_whole = isinstance(level, float) and level.is_integer()
    return level_text(int(level) if is_whole else level)


def _canonical(text: str) -> str:
    try:
        return str(Decimal(text).normalize())
    except InvalidOperation:
        return text
