"""The one interface of all designs."""

from abc import abstractmethod
from collections.abc import Iterator

from prumo.study.design.space import MOST_LISTED, Allowed, Combination, Space
from prumo.study.problem import Problem
from prumo.study.section import Section


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
