"""What designs of a given size have in common."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from prumo.study.design.design import Design
from prumo.study.design.space import Space
from prumo.study.problem import Problem
from prumo.study.section import WholeNumber


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
