"""How likely one thing truly costs less or takes less time than another, from a few runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import sqrt
from statistics import fmean

import numpy as np
import polars as pl
from numpy.typing import NDArray

from prumo.statistics.interval import DEFAULT_CONFIDENCE, mean_ratio, ratio_of
from prumo.study.plan import MACHINE_NAMES

Draws = NDArray[np.float64]
Runs = dict[tuple[object, ...], list[float]]

# The error of a chance near 95 % is then a sixth of a percent.
DRAWS = 20_000
SEED = 1
FEWEST_RUNS = 2

# What is trained or asked, on what and how much of it; all other factors are ways to do it.
WORK_FACTORS = frozenset(
    {"network", "model", "dataset", "image_size", "images", "only_class", "epochs"}
    | {"experiment", "task", "workload"}
)


class Aspect(StrEnum):
    """In what two things are compared."""

    COST = "cost"
    TIME = "time"


@dataclass(frozen=True)
class Difference:
    """One thing against another."""

    aspect: Aspect
    one: str
    other: str
    one_mean: float
    other_mean: float
    chance_less: float | None
    """That the one truly has less of it; None where a single run leaves no telling."""
    confidence: float = DEFAULT_CONFIDENCE
    is_same: bool = False
    """Whether every run of either has the same of it, so that there is nothing to be unsure of."""

    @property
    def is_less(self) -> bool:
        """Whether the one has less of it on average."""
        return self.one_mean < self.other_mean

    @property
    def is_told(self) -> bool:
        """Whether the runs tell the two apart.

        Either may turn out to be the lesser, so both ends share what confidence leaves: two equal
        things are called different in 5 of 100 cases at 95 %.
        """
        if self.chance_less is None:
            return False
        return max(self.chance_less, 1 - self.chance_less) >= (1 + self.confidence) / 2


@dataclass(frozen=True)
class MachineRatio:
    """Two machines in pairs of scenarios that differ in nothing else."""

    pairs: int
    reversed_pairs: int
    """In how many of them it is told to be the other way round."""
    difference: Difference
    """Of geometric means over the pairs."""

    @property
    def machines(self) -> set[str]:
        """Their labels."""
        return {self.difference.one, self.difference.other}


def machine_ratios(
    runs: pl.DataFrame,
    factors: Sequence[str],
    metric: str,
    aspect: Aspect,
    confidence: float = DEFAULT_CONFIDENCE,
) -> list[MachineRatio]:
    """Every two machines that did the same work, the one with less of the metric first.

    None where a run has nothing of the metric, as when whole minutes are billed of a shorter run:
    such amounts have no ratio.
    """
    machine = next((name for name in MACHINE_NAMES if name in factors), None)
    finished = runs.filter((pl.col("verdict") == "finished") & pl.col(metric).is_not_null())
    if machine is None or finished.filter(pl.col(metric) <= 0).height:
        return []
    others = [name for name in factors if name != machine]
    machines: dict[str, Runs] = {}
    for label, value, *levels in finished.select(machine, metric, *others).iter_rows():
        machines.setdefault(str(label), {}).setdefault(tuple(levels), []).append(value)
    return [
        ratio
        for one, other in combinations(machines.items(), 2)
        if (ratio := _ratio(one, other, aspect, confidence)) is not None
    ]


def _ratio(
    one: tuple[str, Runs], other: tuple[str, Runs], aspect: Aspect, confidence: float
) -> MachineRatio | None:
    (name, mine), (other_name, theirs) = one, other
    pairs = [(mine[levels], theirs[levels]) for levels in mine if levels in theirs]
    if not pairs:
        return None
    ratio = mean_ratio(pairs, confidence)
    if ratio.value > 1:
        return _ratio(other, one, aspect, confidence)
    difference = Difference(
        aspect=aspect,
        one=name,
        other=other_name,
        one_mean=ratio.value,
        other_mean=1.0,
        # The test is two-sided, and the ratio is on the lower side.
        chance_less=None if ratio.p_value is None else 1 - ratio.p_value / 2,
        confidence=confidence,
        is_same=all(len({*values, *others}) == 1 for values, others in pairs),
    )
    singles = [ratio_of(values, others, confidence) for values, others in pairs]
    reversed_pairs = sum(
        single.value > 1 and single.p_value is not None and single.p_value < 1 - confidence
        for single in singles
    )
    return MachineRatio(len(pairs), reversed_pairs, difference)


@dataclass(frozen=True)
class Plausible:
    """What the truth may be: one row per draw, one column per scenario."""

    seconds: Draws
    costs: Draws


def plausible_means(
    seconds: Sequence[Sequence[float]],
    costs: Sequence[Sequence[float]],
    *,
    of_next_run: bool = False,
) -> Plausible:
    """True mean times and costs of scenarios as likely as their runs make them.

    Each scenario's pair is drawn from the bivariate t distribution around its means, so that 95 %
    of the draws are within Student's interval, and two scenarios differ as in the Behrens-Fisher
    distribution: Box and Tiao (1973), Bayesian Inference in Statistical Analysis, chapter 2. A run
    that takes longer also costs more, and the draws keep that. A scenario with a single run stands
    at its values: callers say that it is unsure.
    """
    random = np.random.default_rng(SEED)
    pairs = [
        _pair(np.array([time, cost], dtype=np.float64), random, of_next_run=of_next_run)
        for time, cost in zip(seconds, costs, strict=True)
    ]
    return Plausible(*np.stack(pairs, axis=-1))


def plausible_runs(
    seconds: Sequence[Sequence[float]], costs: Sequence[Sequence[float]]
) -> Plausible:
    """Time and cost of the next run of each scenario: spread of runs and doubt about the mean."""
    return plausible_means(seconds, costs, of_next_run=True)


def exact_mean(values: Sequence[float]) -> float:
    """The mean; of equal values just that, without the rounding error of summing and dividing."""
    return values[0] if min(values) == max(values) else fmean(values)


def chance_below(one: Draws, other: Draws | float) -> float:
    """The chance that one is below the other; a tie is half a chance."""
    return float(np.mean(one < other) + np.mean(one == other) / 2)


def _pair(values: Draws, random: np.random.Generator, *, of_next_run: bool) -> Draws:
    """Draws of the time and the cost of one scenario, two rows."""
    runs = values.shape[1]
    means: Draws = np.array([[exact_mean(row)] for row in values.tolist()])
    if runs < FEWEST_RUNS:
        return np.repeat(means, DRAWS, axis=1)
    spread = sqrt(1 / runs + of_next_run)
    # Weighing the deviations of the runs by normal numbers gives their covariance to the draws; of
    # a triangle with the same products two numbers do, however many runs there are.
    _, deviations = np.linalg.qr((values - means).T)
    shifts = deviations.T @ random.standard_normal((len(deviations), DRAWS))
    scale = np.sqrt(random.chisquare(runs - 1, DRAWS))
    drawn: Draws = means + spread * shifts / scale
    return drawn


def work_factors(factors: Sequence[str], given: Sequence[str] = ()) -> list[str]:
    """The factors that change what is done, and not only how; `given` names more of them.

    >>> work_factors(["machine", "network", "batch_size"])
    ['network']
    """
    return [factor for factor in factors if factor in WORK_FACTORS or factor in given]


def by_work(
    runs: pl.DataFrame, factors: Sequence[str], given: Sequence[str] = ()
) -> list[pl.DataFrame]:
    """The runs apart by the work that they do, in the order of the table."""
    work = work_factors(factors, given)
    if not work or runs.is_empty():
        return [runs]
    return runs.partition_by(work, maintain_order=True)
