"""All combinations of levels, addressed without making them."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Annotated

from pydantic import Field

from prumo.study.problem import Problem
from prumo.study.scenario import Level
from prumo.study.section import Section, WholeNumber

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


class DesignError(Exception):
    """A design of this size does not exist over these factors and rules."""


class Design(Section):
    """Which combinations of levels become scenarios."""

    def problems(self, space: Space) -> Iterator[Problem]:
        """What makes this design impossible over these factors."""
        if self.count(space) > MOST_LISTED:
            yield Problem(
                (),
                f"{self.count(space):,} scenarios are too many to list; "
                "take a `random` or `latin_hypercube` design with a size",
            )

    def remarks(self, space: Space) -> Iterator[str]:
        """What a reader of the plan should know about this design."""
        del space
        yield from ()

    @abstractmethod
    def count(self, space: Space) -> int:
        """The number of combinations before rules."""

    @abstractmethod
    def combinations(self, space: Space, allowed: Allowed) -> Iterator[Combination]:
        """The allowed combinations, the last factor varying fastest."""


class Sample(Design):
    """Some of all combinations: as many as asked for, the same for the same seed."""

    size: Annotated[WholeNumber, Field(ge=1, le=1_000_000)]
    """Number of scenarios."""
    seed: Annotated[WholeNumber, Field(ge=0, lt=2**63)] = 1
    """Seed of the draw."""

    def problems(self, space: Space) -> Iterator[Problem]:
        """More scenarios than combinations."""
        if self.size > space.size:
            yield Problem(("size",), f"{self.size} is more than the {space.size} combinations")

    def count(self, space: Space) -> int:
        """The number that was asked for."""
        del space
        return self.size
