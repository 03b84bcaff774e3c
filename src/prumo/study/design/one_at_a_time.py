"""A base scenario, and every scenario that differs from it in one factor."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from prumo.errors import did_you_mean
from prumo.study.design.design import Design
from prumo.study.design.space import Allowed, Combination, Space
from prumo.study.problem import Problem, shown
from prumo.study.section import LevelField, Text


class OneAtATime(Design):
    """A base scenario, and every scenario that differs from it in one factor."""

    kind: Literal["one_at_a_time"]
    """A base scenario and its neighbours."""
    base: dict[Text, LevelField] = Field(default_factory=dict)
    """Factor → its level in the base scenario; the first level where nothing is said."""

    def problems(self, space: Space) -> Iterator[Problem]:
        """Unknown factors and levels of the base scenario."""
        for name, level in self.base.items():
            if name not in space.factors:
                yield Problem(
                    ("base", name), f"no such factor; {did_you_mean(name, space.factors)}"
                )
            elif level not in space.factors[name]:
                yield Problem(("base", name), f"{shown(level)} is not a level of {name}")

    def count(self, space: Space) -> int:
        """The base scenario and one for every other level."""
        return 1 + sum(count - 1 for count in space.counts)

    def combinations(self, space: Space, allowed: Allowed) -> Iterator[Combination]:
        """The base scenario and its allowed neighbours."""
        base = tuple(
            levels.index(self.base[name]) if name in self.base else 0
            for name, levels in space.factors.items()
        )
        neighbours = {
            (*base[:factor], position, *base[factor + 1 :])
            for factor, count in enumerate(space.counts)
            for position in range(count)
        }
        return filter(allowed, sorted(neighbours))
