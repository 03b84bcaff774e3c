"""By how much and how surely one thing costs less, or takes less time, than another. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from prumo.analyse.interval import DEFAULT_CONFIDENCE
from prumo.message import Message
from prumo.quantity import Quantity

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
