"""The levels of one factor against each other, like with like: within equal other levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import combinations, islice
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from prumo.errors import InputError, did_you_mean
from prumo.quantity import MISSING
from prumo.statistics.interval import DEFAULT_CONFIDENCE, bootstrap_ratio, mean_ratio
from prumo.study import level_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from prumo.statistics.interval import Ratio
    from prumo.study import Level

    Levels = tuple[Level | None, ...]
    Pairs = Sequence[tuple[Sequence[float], Sequence[float]]]

# A spread needs two values.
FEWEST_RUNS = 2


class Verdict(StrEnum):
    """What the runs say of a level's metric against another's; never that the two are equal."""

    LOWER = "lower"
    HIGHER = "higher"
    NOT_TOLD_APART = "not_told_apart"
    TOO_FEW_RUNS = "too_few_runs"


@dataclass(frozen=True)
class Sample:
    """The runs of one scenario."""

    scenario: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class MatchedComparison:
    """Two levels in one combination of the other factors' levels."""

    levels: Mapping[str, Level | None]
    """The other factors and their levels, the same on both sides."""
    sample: Sample
    other_sample: Sample
    ratio: Ratio
    """Of the geometric means, the first level's to the other's."""
    cliffs_delta: float
    """How much more often a run of the first is above one of the other than below: -1 to 1."""
    adjusted_p: float | None = None
    """The p value corrected for all tests of the comparison; None with too few runs."""
    verdict: Verdict = Verdict.TOO_FEW_RUNS


@dataclass(frozen=True)
class LevelComparison:
    """Two levels over all combinations that both were measured in."""

    level: str
    other: str
    matched: tuple[MatchedComparison, ...]
    unmatched: int
    """Combinations that only one of the two was measured in."""
    ratio: Ratio | None
    """The geometric mean of the combinations' ratios; None without any combination."""
    adjusted_p: float | None = None
    """The p value corrected for all pairs of levels; None with too few runs."""
    verdict: Verdict = Verdict.TOO_FEW_RUNS

    @property
    def rests_on_combinations(self) -> bool:
        """Whether the interval rests on the differences between combinations."""
        if self.ratio is None or self.ratio.low is None:
            return False
        return any(
            len(sample.values) < FEWEST_RUNS
            for matched in self.matched
            for sample in (matched.sample, matched.other_sample)
        )

    def count(self, verdict: Verdict) -> int:
        """In how many combinations the runs say so."""
        return sum(matched.verdict is verdict for matched in self.matched)


@dataclass(frozen=True)
class Comparison:
    """Every pair of levels of a factor."""

    factor: str
    metric: str
    confidence: float
    pairs: tuple[LevelComparison, ...]
    is_bootstrap: bool = False
    """Whether the intervals are by the bootstrap."""

    @property
    def tests(self) -> int:
        """How many tests the verdicts on combinations hold for together."""
        return sum(
            matched.adjusted_p is not None for pair in self.pairs for matched in pair.matched
        )


Judged = TypeVar("Judged", LevelComparison, MatchedComparison)


def compare(  # noqa: PLR0913 (a table, its columns, and three choices)
    runs: pl.DataFrame,
    factors: Sequence[str],
    factor: str,
    metric: str,
    confidence: float = DEFAULT_CONFIDENCE,
    *,
    against: str | None = None,
    bootstrap: bool = False,
) -> Comparison:
    """Compare the levels of a factor over finished runs: all pairs, or each against one.

    Welch's tests on logarithms, corrected after Holm; with `bootstrap`, intervals that assume
    nothing of how runs spread, where there are runs enough for them.
    """
    if factor not in factors:
        raise InputError(f"no factor '{factor}': {did_you_mean(factor, factors)}")
    others = [name for name in factors if name != factor]
    samples = _samples(runs, others, factor, metric)
    ratio_of = partial(_ratio, confidence=confidence, bootstrap=bootstrap)
    pairs = [
        _compared(level, other, samples, others, ratio_of)
        for level, other in _chosen(factor, list(samples), against)
    ]
    single = iter(_judged([one for pair in pairs for one in pair.matched], 1 - confidence))
    judged = tuple(
        replace(pair, matched=tuple(islice(single, len(pair.matched))))
        for pair in _judged(pairs, 1 - confidence)
    )
    return Comparison(factor, metric, confidence, judged, is_bootstrap=bootstrap)


def holm(p_values: Sequence[float]) -> list[float]:
    """P values corrected for being so many, so that all verdicts hold together.

    Holm (1979), Scandinavian Journal of Statistics 6(2).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values)
    order = np.argsort(values)
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(stepped, 1)
    return [float(value) for value in adjusted]


def cliffs_delta(values: Sequence[float], others: Sequence[float]) -> float:
    """How much more often a value is above one of the others than below it.

    Cliff (1993), Psychological Bulletin 114(3): 1 when all are above, 0 when they mix evenly.

    >>> cliffs_delta([3, 4], [1, 2]), cliffs_delta([1, 2], [1, 2])
    (1.0, 0.0)
    """
    return float(np.sign(np.subtract.outer(np.asarray(values), np.asarray(others))).mean())


def _samples(
    runs: pl.DataFrame, others: Sequence[str], factor: str, metric: str
) -> dict[str, dict[Levels, Sample]]:
    """Level → the other factors' levels → the runs there."""
    value = pl.col(metric)
    table = runs.filter((pl.col("verdict") == "finished") & value.is_not_null() & value.is_finite())
    without_ratio = table.filter(value <= 0)
    if without_ratio.height:
        raise InputError(
            f"{metric} is not above zero in {without_ratio.height} of {table.height} runs "
            f"(first: {without_ratio['run'][0]}), so there are no ratios to compare; "
            "give another --metric"
        )
    combinations_of = table.group_by(factor, *others, maintain_order=True)
    samples: dict[str, dict[Levels, Sample]] = {}
    for level, *levels, scenario, values in combinations_of.agg(
        pl.col("scenario").last(), pl.col(metric)
    ).iter_rows():
        name = MISSING if level is None else level_text(level)
        samples.setdefault(name, {})[tuple(levels)] = Sample(scenario, tuple(values))
    return samples


def _chosen(factor: str, levels: Sequence[str], against: str | None) -> Iterable[tuple[str, str]]:
    if len(levels) < 2:  # noqa: PLR2004 (a pair)
        found = f"only {levels[0]}" if levels else "none"
        raise InputError(f"nothing to compare: of the levels of {factor}, {found} has figures")
    if against is None:
        return combinations(levels, 2)
    if against not in levels:
        raise InputError(
            f"no figures at {factor} '{against}' to compare with: {did_you_mean(against, levels)}"
        )
    return [(level, against) for level in levels if level != against]


def _compared(
    level: str,
    other: str,
    samples: Mapping[str, Mapping[Levels, Sample]],
    others: Sequence[str],
    ratio_of: Callable[[Pairs], Ratio],
) -> LevelComparison:
    mine, theirs = samples[level], samples[other]
    shared = [levels for levels in mine if levels in theirs]
    pairs = [(mine[levels].values, theirs[levels].values) for levels in shared]
    matched = [
        MatchedComparison(
            levels=dict(zip(others, levels, strict=True)),
            sample=mine[levels],
            other_sample=theirs[levels],
            ratio=ratio_of([pair]),
            cliffs_delta=cliffs_delta(*pair),
        )
        for levels, pair in zip(shared, pairs, strict=True)
    ]
    ratio = ratio_of(pairs) if pairs else None
    unmatched = len(mine) + len(theirs) - 2 * len(shared)
    return LevelComparison(level, other, tuple(matched), unmatched, ratio)


def _ratio(pairs: Pairs, confidence: float, *, bootstrap: bool) -> Ratio:
    ratio = mean_ratio(pairs, confidence)
    if not bootstrap:
        return ratio
    low, high = bootstrap_ratio(pairs, confidence) or (None, None)
    return replace(ratio, low=low, high=high)


def _judged(found: Sequence[Judged], risk: float) -> Iterator[Judged]:
    """With verdicts that all hold together, but for this risk of one false alarm."""
    p_values = [one.ratio.p_value for one in found if one.ratio is not None]
    corrected = iter(holm([p_value for p_value in p_values if p_value is not None]))
    for one in found:
        if one.ratio is None or one.ratio.p_value is None:
            yield one
            continue
        adjusted = next(corrected)
        verdict = Verdict.LOWER if one.ratio.value < 1 else Verdict.HIGHER
        if adjusted >= risk:
            verdict = Verdict.NOT_TOLD_APART
        yield replace(one, adjusted_p=adjusted, verdict=verdict)
