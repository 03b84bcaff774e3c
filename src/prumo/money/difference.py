"""By how much and how surely one thing costs less, or takes less time, than another. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl

from prumo.message import Message
from prumo.quantity import Quantity
from prumo.statistics.interval import DEFAULT_CONFIDENCE, mean_ratio, ratio_of
from prumo.study.parameters import MACHINE_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.money.cost import Costing


# Below this ratio percents are easier to grasp than times.
TIMES_FROM = 1.5
# A chance from so many draws is not known better than this.
FINEST_PERCENT = 0.1


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

    def message(self) -> Message:
        """What the runs say of it, and no more."""
        names = {"one": self.one, "other": self.other}
        if self.is_same:
            told = Message(SAME[self.aspect], names)
        elif min(self.one_mean, self.other_mean) <= 0:
            told = Message(NOTHING[self.aspect, self.is_less], names)
        elif self.chance_less is None:
            told = Message(
                "In these runs {difference}; with a single run of either, nobody can tell how sure "
                "that is.",
                {"difference": self._difference()},
            )
        elif not self.is_told:
            told = Message(UNDECIDED[self.aspect], {**names, "chance": chance(self.chance_less)})
        else:
            surely = self.chance_less if self.is_less else 1 - self.chance_less
            told = Message(
                "{difference}; the chance that this is truly so is {chance}.",
                {"difference": self._difference(), "chance": chance(surely)},
            )
        return told

    def _difference(self) -> Message:
        low, high = sorted((self.one_mean, self.other_mean))
        in_times = high >= TIMES_FROM * low
        percent = 100 * (high - low) / self.other_mean
        return Message(
            TEMPLATES[self.aspect, self.is_less, in_times],
            {"one": self.one, "other": self.other, "times": high / low, "percent": percent},
        )


TEMPLATES = {
    (Aspect.COST, True, True): "{one} costs {times:.1f} times less than {other}",
    (Aspect.COST, True, False): "{one} costs {percent:.1f} % less than {other}",
    (Aspect.COST, False, True): "{one} costs {times:.1f} times as much as {other}",
    (Aspect.COST, False, False): "{one} costs {percent:.1f} % more than {other}",
    (Aspect.TIME, True, True): "{one} takes {times:.1f} times less time than {other}",
    (Aspect.TIME, True, False): "{one} takes {percent:.1f} % less time than {other}",
    (Aspect.TIME, False, True): "{one} takes {times:.1f} times as long as {other}",
    (Aspect.TIME, False, False): "{one} takes {percent:.1f} % more time than {other}",
}
SAME = {
    Aspect.COST: "All runs of {one} and {other} cost the same.",
    Aspect.TIME: "All runs of {one} and {other} take the same time.",
}
# Of nothing there is no ratio.
NOTHING = {
    (Aspect.COST, True): "As billed, the runs of {one} cost nothing, and those of {other} do.",
    (Aspect.COST, False): "As billed, the runs of {other} cost nothing, and those of {one} do.",
    (Aspect.TIME, True): "As measured, the runs of {one} take no time, and those of {other} do.",
    (Aspect.TIME, False): "As measured, the runs of {other} take no time, and those of {one} do.",
}
UNDECIDED = {
    Aspect.COST: "These runs do not tell {one} and {other} apart in cost: the chance that {one} "
    "is truly cheaper is {chance}.",
    Aspect.TIME: "These runs do not tell {one} and {other} apart in time: the chance that {one} "
    "is truly faster is {chance}.",
}


def chance(share: float) -> Message | Quantity:
    """A chance in percent, never said to be a certainty.

    >>> str(chance(0.637)), str(chance(1.0)), str(chance(0.0))
    ('64 %', 'more than 99.9 %', 'less than 0.1 %')
    """
    percent = 100 * share
    if percent > 100 - FINEST_PERCENT:
        return Message("more than {percent}", {"percent": _percent(100 - FINEST_PERCENT)})
    if percent < FINEST_PERCENT:
        return Message("less than {percent}", {"percent": _percent(FINEST_PERCENT)})
    near_an_end = min(percent, 100 - percent) < 1
    return _percent(round(percent, 1 if near_an_end else 0))


def _percent(percent: float) -> Quantity:
    return Quantity(percent, "%", digits=3 if percent > 1 else 1)


if TYPE_CHECKING:
    Runs = dict[tuple[object, ...], list[float]]


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

    def message(self) -> Message:
        """The difference, what it rests on, and whether it holds everywhere."""
        told = Message(
            "In {count} pair of scenarios alike but for the machine: {difference}",
            {"count": self.pairs, "difference": self.difference.message()},
            "On average over {count} pairs of scenarios alike but for the machine: {difference}",
        )
        if not self.reversed_pairs:
            return told
        return Message(
            "{told} In {count} of them it is the other way round.",
            {"told": told, "count": self.reversed_pairs},
        )


def machine_sentences(
    costing: Costing, factors: Sequence[str], money: str | None, confidence: float
) -> list[Message]:
    """How machines that did the same work compare, in cost and in time.

    At one price for all, amounts are of a machine that some did not run on: only time is told.
    Machines that were one computer are not compared.
    """
    aspects = {Aspect.TIME: costing.time_metric}
    if money is not None and len(set(costing.rates.values())) > 1:
        aspects = {Aspect.COST: money, **aspects}
    return [
        ratio.message()
        for aspect, metric in aspects.items()
        for ratio in machine_ratios(costing.runs, factors, metric, aspect, confidence)
        if not any(ratio.machines <= set(shared.labels) for shared in costing.same_computers)
    ]


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
    machines = list(_by_machine(finished, others, machine, metric).items())
    return [
        ratio
        for one, other in combinations(machines, 2)
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


def _by_machine(
    finished: pl.DataFrame, others: Sequence[str], machine: str, metric: str
) -> dict[str, Runs]:
    """Machine → the other levels of a scenario → the metric in its runs."""
    runs: dict[str, Runs] = {}
    for label, value, *levels in finished.select(machine, metric, *others).iter_rows():
        runs.setdefault(str(label), {}).setdefault(tuple(levels), []).append(value)
    return runs


# What is trained or asked, on what and how much of it; all other factors are ways to do it.
WORK_FACTORS = frozenset(
    {"network", "model", "dataset", "image_size", "images", "only_class", "epochs"}
    | {"experiment", "task", "workload"}
)


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
