"""Combinations drawn at random, each at most once."""

from collections.abc import Iterator
from random import Random
from typing import Literal

from prumo.study.design.design import DesignError
from prumo.study.design.sample import Sample
from prumo.study.design.space import Allowed, Combination, Space

# Up to here every combination is looked at, so that an allowed one is never missed.
_MOST_LOOKED_AT = 100_000
_DRAWS_PER_SCENARIO = 1_000


class RandomSample(Sample):
    """Combinations drawn at random from the allowed ones, each at most once."""

    kind: Literal["random"]
    """Combinations drawn at random."""

    def combinations(self, space: Space, allowed: Allowed) -> Iterator[Combination]:
        """Draw without repetition, then list in the order of the factors."""
        generator = Random(self.seed)  # noqa: S311 (a sample, not a secret)
        if space.size <= _MOST_LOOKED_AT:
            candidates = list(filter(allowed, map(space.combination, range(space.size))))
            if len(candidates) >= self.size:
                return iter(sorted(generator.sample(candidates, self.size)))
            raise _too_few(len(candidates), self.size)
        return iter(sorted(self._drawn(space, allowed, generator)))

    def _drawn(self, space: Space, allowed: Allowed, generator: Random) -> set[Combination]:
        chosen: set[Combination] = set()
        for _ in range(self.size * _DRAWS_PER_SCENARIO):
            combination = space.combination(generator.randrange(space.size))
            if combination not in chosen and allowed(combination):
                chosen.add(combination)
            if len(chosen) == self.size:
                return chosen
        raise _too_few(len(chosen), self.size)


def _too_few(found: int, wanted: int) -> DesignError:
    return DesignError(f"the rules leave {found} combinations to draw from, not {wanted}")
