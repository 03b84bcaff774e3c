"""Designs: which combinations of levels become scenarios.

Every combination, one factor at a time, or a sample; fractions are in `fractional_design`.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from random import Random
from typing import Annotated, Literal

from pydantic import Field

from prumo.errors import did_you_mean
from prumo.study.section import Level, LevelField, Problem, Section, Text, WholeNumber, shown

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


_SWAPS_PER_SCENARIO = 300


class LatinHypercube(Sample):
    """A Latin hypercube: every level of a factor occurs about equally often."""

    kind: Literal["latin_hypercube"]
    """A balanced sample."""
    size: Annotated[WholeNumber, Field(ge=1, le=10_000)]
    """Number of scenarios."""

    def combinations(self, space: Space, allowed: Allowed) -> Iterator[Combination]:
        """Sample, then exchange levels between rows until all are distinct and allowed."""
        rows = _Rows(_sampled(space, self.size, self.seed), allowed)
        generator = Random(self.seed)  # noqa: S311 (a sample, not a secret)
        for _ in range(self.size * _SWAPS_PER_SCENARIO):
            if not rows.bad:
                return iter(sorted(rows.rows))
            rows.exchange(generator)
        raise DesignError(
            f"found no Latin hypercube of {self.size} distinct scenarios that the rules allow; "
            "take fewer, or a `random` design"
        )


def _sampled(space: Space, size: int, seed: int) -> list[Combination]:
    # SciPy's statistics take seconds to import; no other design needs them.
    from scipy.stats import qmc  # noqa: PLC0415

    points = qmc.LatinHypercube(d=len(space.counts), rng=seed).random(size)
    return [
        tuple(min(int(x * count), count - 1) for x, count in zip(point, space.counts, strict=True))
        for point in points
    ]


class _Rows:
    """Rows of a sample; exchanging a level between two rows keeps the balance of the factor."""

    def __init__(self, rows: list[Combination], allowed: Allowed) -> None:
        self.rows = rows
        self._allowed = allowed
        self._times = Counter(rows)
        self.bad = [index for index in range(len(rows)) if self._is_bad(index)]

    def exchange(self, generator: Random) -> None:
        """Exchange one level of a bad row with another row, unless that makes things worse."""
        position = generator.randrange(len(self.bad))
        first = self.bad[position]
        if not self._is_bad(first):
            # Its twin has moved away since.
            self.bad.pop(position)
            return
        second = generator.randrange(len(self.rows))
        factor = generator.randrange(len(self.rows[0]))
        before = self._badness(first, second)
        self._swap(first, second, factor)
        if self._badness(first, second) > before:
            self._swap(first, second, factor)
        elif self._is_bad(second) and second not in self.bad:
            self.bad.append(second)

    def _is_bad(self, index: int) -> bool:
        row = self.rows[index]
        return self._times[row] > 1 or not self._allowed(row)

    def _badness(self, *indices: int) -> int:
        rows = [self.rows[index] for index in indices]
        return sum(self._times[row] - 1 + 2 * (not self._allowed(row)) for row in rows)

    def _swap(self, first: int, second: int, factor: int) -> None:
        """Exchange the levels of a factor; a second time undoes it."""
        one, other = self.rows[first], self.rows[second]
        self._times.subtract((one, other))
        self.rows[first] = (*one[:factor], other[factor], *one[factor + 1 :])
        self.rows[second] = (*other[:factor], one[factor], *other[factor + 1 :])
        self._times.update((self.rows[first], self.rows[second]))
