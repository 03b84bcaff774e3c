"""All combinations of levels, addressed without making them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from prumo.study.scenario import Level

Combination = tuple[int, ...]
"""The index of a level for every factor, in the order of the factors."""

Allowed = Callable[[Combination], bool]
"""Whether the rules of a study leave a combination in."""

MOST_LISTED = 10_000_000
"""More combinations than this are never gone through one by one."""


@dataclass(frozen=True)
class Space:
    """The factors of a study and their levels."""

    factors: Mapping[str, tuple[Level, ...]]

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of levels of every factor."""
        return tuple(len(levels) for levels in self.factors.values())

    @property
    def size(self) -> int:
        """The number of combinations."""
        return prod(self.counts)

    def combination(self, index: int) -> Combination:
        """The combination at an index when the last factor varies fastest."""
        positions = []
        for count in reversed(self.counts):
            index, position = divmod(index, count)
            positions.append(position)
        return tuple(reversed(positions))
