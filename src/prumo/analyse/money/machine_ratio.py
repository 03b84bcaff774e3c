"""How many times less one machine takes, or costs, than another for the same work. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl

from prumo.analyse.interval import DEFAULT_CONFIDENCE
from prumo.analyse.money.difference import Aspect, Difference
from prumo.analyse.ratio import mean_ratio, ratio_of
from prumo.message import Message
from prumo.study.parameters import MACHINE_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.analyse.money.costing import Costing

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
    Machines that were one computer are not compared, and that is told instead.
    """
    aspects = {Aspect.TIME: costing.time_metric}
    if money is not None and len(set(costing.rates.values())) > 1:
        aspects = {Aspect.COST: money, **aspects}
    told = [shared.message() for shared in costing.same_computers]
    told += [
        ratio.message()
        for aspect, metric in aspects.items()
        for ratio in machine_ratios(costing.runs, factors, metric, aspect, confidence)
        if not any(ratio.machines <= set(shared.labels) for shared in costing.same_computers)
    ]
    return told


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
