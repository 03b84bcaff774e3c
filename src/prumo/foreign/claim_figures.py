"""What the data give for the figure of a claim, with its interval. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import product
from math import exp, inf, log, prod, sqrt
from statistics import fmean, median, stdev

import polars as pl
from scipy.special import chdtri, fdtri

from prumo.errors import InputError, did_you_mean
from prumo.results.columns import IDENTITY_COLUMNS, OUTCOME_COLUMNS
from prumo.results.record import Spread
from prumo.statistics.interval import LogMean, log_mean_ratio, lowest_mean, t_quantile
from prumo.study import Level, level_text


@dataclass(frozen=True)
class Group:
    """The measurements of one scenario, or what a published summary tells of them."""

    scenario: str
    levels: Mapping[str, str]
    values: tuple[float, ...]
    spread: Spread | None = None

    @property
    def mean(self) -> float:
        """The arithmetic mean."""
        return fmean(self.values)

    @property
    def n(self) -> int | None:
        """The number of measurements; None where a summary does not tell."""
        return len(self.values) if self.spread is None else self.spread.n

    @property
    def standard_deviation(self) -> float | None:
        """That of the sample; None where there is no telling."""
        if self.spread is not None:
            return self.spread.standard_deviation
        return stdev(self.values) if len(self.values) > 1 else None

    @property
    def squared_error(self) -> float | None:
        """The squared standard error of the mean; None where there is no telling."""
        n, deviation = self.n, self.standard_deviation
        return None if n is None or n == 1 or deviation is None else deviation**2 / n

    @property
    def log_mean(self) -> LogMean:
        """The mean of the logarithms of positive measurements."""
        if self.spread is not None:
            return LogMean.of_summary(self.mean, self.spread.standard_deviation, self.spread.n)
        return LogMean.of(self.values)


@dataclass(frozen=True)
class Figure:
    """A figure with the interval that it is known to."""

    value: float
    low: float | None = None
    """None where there is no telling, or no method for this statistic."""
    high: float | None = None
    parts: tuple[float, ...] = ()
    """The same figure of each scenario, or pair of scenarios, where there can be several."""

    def changed(self, formula: Callable[[float], float]) -> Figure:
        """The figure that follows from this one by a formula that only rises or only falls."""
        parts = tuple(formula(part) for part in self.parts)
        if self.low is None or self.high is None:
            return Figure(formula(self.value), parts=parts)
        low, high = sorted((formula(self.low), formula(self.high)))
        return Figure(formula(self.value), low, high, parts)


def mean_figure(groups: Sequence[Group], confidence: float, *, is_amount: bool = False) -> Figure:
    """The mean of the groups' means, all weighing the same; that of an amount stays above zero."""
    value = fmean(group.mean for group in groups)
    parts = tuple(group.mean for group in groups)
    width = _half_width(groups, confidence)
    if width is None:
        return Figure(value, parts=parts)
    is_never_negative = is_amount and all(min(group.values) >= 0 for group in groups)
    floor = lowest_mean(value, confidence) if is_never_negative else -inf
    return Figure(value, max(value - width, floor), value + width, parts)


def ratio_figure(pairs: Sequence[tuple[Group, Group]], confidence: float) -> Figure | None:
    """How many times as large the first means of pairs are as the second; None if not positive.

    Means are arithmetic, as published ratios are; over several pairs the geometric mean of the
    ratios is taken. The interval is that of `prumo compare`: it is about geometric means.
    """
    if any(group.mean <= 0 for pair in pairs for group in pair):
        return None
    parts = tuple(one.mean / other.mean for one, other in pairs)
    value = exp(fmean(log(part) for part in parts))
    sure = order_figure(pairs, confidence)
    return Figure(value, parts=parts) if sure is None else replace(sure, value=value, parts=parts)


def order_figure(pairs: Sequence[tuple[Group, Group]], confidence: float) -> Figure | None:
    """The ratio of geometric means just as `prumo compare` tells it; None if not positive."""
    if any(value <= 0 for pair in pairs for group in pair for value in group.values):
        return None
    sides = [(one.log_mean, other.log_mean) for one, other in pairs]
    ratio = log_mean_ratio(sides, confidence)
    parts = tuple(exp(one.mean - other.mean) for one, other in sides)
    return Figure(ratio.value, ratio.low, ratio.high, parts)


def spread_figure(group: Group, confidence: float, *, population: bool) -> Figure | None:
    """A standard deviation; its interval is by chi-square, so for values that are nearly normal."""
    n, deviation = group.n, group.standard_deviation
    if deviation is None or (population and n is None):
        return None
    if n is None or n == 1:
        return Figure(deviation)
    if population:
        deviation *= sqrt((n - 1) / n)
    tail = (1 - confidence) / 2
    ends = [sqrt((n - 1) / float(chdtri(n - 1, share))) for share in (tail, 1 - tail)]
    return Figure(deviation, deviation * ends[0], deviation * ends[1])


def spread_ratio_figure(one: Group, other: Group, confidence: float) -> Figure | None:
    """How many times as large the one standard deviation is; None where there is no ratio.

    Its interval is by F, so for values that are nearly normal.
    """
    spread, base = one.standard_deviation, other.standard_deviation
    if spread is None or not base:
        return None
    if one.n is None or other.n is None or min(one.n, other.n) == 1:
        return Figure(spread / base)
    tail = (1 - confidence) / 2
    low, high = (
        spread / base / sqrt(float(fdtri(one.n - 1, other.n - 1, share)))
        for share in (1 - tail, tail)
    )
    return Figure(spread / base, low, high)


SINGLE: dict[str, Callable[[Sequence[float]], float]] = {
    "median": median,
    "minimum": min,
    "maximum": max,
}


def single_figure(group: Group, statistic: str) -> Figure | None:
    """A statistic of one group's values; None where only a summary of them is known."""
    return None if group.spread is not None else Figure(SINGLE[statistic](group.values))


def _half_width(groups: Sequence[Group], confidence: float) -> float | None:
    """Of the interval of the mean of means, by Welch (1947), Biometrika 34."""
    total = curvature = 0.0
    for group in groups:
        squared = group.squared_error
        if squared is None or group.n is None:
            return None
        share = squared * (1 / len(groups)) ** 2
        total += share
        curvature += share**2 / (group.n - 1)
    if total == 0:
        return 0.0
    return t_quantile(confidence, total**2 / curvature if curvature else inf) * sqrt(total)


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


class Scenarios:
    """The finished runs of a study, by their levels."""

    def __init__(
        self,
        runs: pl.DataFrame,
        planned: Mapping[str, Sequence[Level]],
        spreads: Mapping[str, Mapping[str, Spread]],
    ) -> None:
        """Take a row per run, factor → levels as planned, and scenario → metric → its spread."""
        factors = list(planned)
        finished = runs.filter(pl.col("verdict") == "finished")
        known = {*IDENTITY_COLUMNS, *OUTCOME_COLUMNS, *factors} - {"wall_seconds"}
        self._metrics = [name for name in runs.columns if name not in known]
        self._tables = [
            (str(scenario), {name: _level(table[name][0]) for name in factors}, table)
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
            self._groups[metric] = list(self._with_figures(metric))
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

        def changes(other: Scope) -> int:
            sides = ((other.one, scope.one), (other.other, scope.other))
            return sum(side[name] != was[name] for side, was in sides for name in side)

        return sorted(found, key=changes)

    def _with_figures(self, metric: str) -> Iterator[Group]:
        for scenario, levels, table in self._tables:
            column = table[metric].cast(pl.Float64).drop_nulls()
            told = self._spreads.get(scenario)
            # What follows from a summary's mean, as its cost does, is no single measurement either.
            spread = told.get(metric, Spread()) if told else None
            if values := column.filter(column.is_finite()).to_list():
                yield Group(scenario, levels, tuple(values), spread)


def _scopes(choices: Mapping[str, Sequence[str]], apart: Sequence[str]) -> Iterator[Scope]:
    """Every choice of levels, the two sides differing in just these factors."""
    for levels in product(*choices.values()):
        one = dict(zip(choices, levels, strict=True))
        for others in product(*(choices[name] for name in apart)):
            changed = dict(zip(apart, others, strict=True))
            if all(one[name] != level for name, level in changed.items()):
                yield Scope(one, {**one, **changed} if apart else {})


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
