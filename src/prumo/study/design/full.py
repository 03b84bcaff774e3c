"""Every combination of levels."""

from collections.abc import Iterator
from itertools import product
from typing import Literal

from prumo.study.design.design import Design
from prumo.study.design.space import Allowed, Combination, Space


class Full(Design):
    """Every combination of levels."""

    kind: Literal["full"] = "full"
    """Every combination of levels."""

    def count(self, space: Space) -> int:
        """The product of the numbers of levels."""
        return space.size

    def combinations(self, space: Space, allowed: Allowed) -> Iterator[Combination]:
        """Every allowed combination."""
        return filter(allowed, product(*map(range, space.counts)))
