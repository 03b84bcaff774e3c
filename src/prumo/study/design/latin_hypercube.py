"""Few scenarios in which every level of every factor occurs about equally often."""

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Annotated, Literal

from pydantic import Field

from prumo.study.design.design import DesignError
from prumo.study.design.sample import Sample
from prumo.study.design.space import Allowed, Combination, Space
from prumo.study.section import WholeNumber

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
        old = self.rows[first], self.rows[second]
        before = self._badness(old)
        new = _exchanged(*old, factor)
        self._replace((first, second), old, new)
        if self._badness(new) > before:
            self._replace((first, second), new, old)
        elif self._is_bad(second) and second not in self.bad:
            self.bad.append(second)

    def _is_bad(self, index: int) -> bool:
        row = self.rows[index]
        return self._times[row] > 1 or not self._allowed(row)

    def _badness(self, rows: tuple[Combination, Combination]) -> int:
        return sum(self._times[row] - 1 + 2 * (not self._allowed(row)) for row in rows)

    def _replace(
        self,
        indices: tuple[int, int],
        old: tuple[Combination, Combination],
        new: tuple[Combination, Combination],
    ) -> None:
        self._times.subtract(old)
        self._times.update(new)
        for index, row in zip(indices, new, strict=True):
            self.rows[index] = row


def _exchanged(
    first: Combination, second: Combination, factor: int
) -> tuple[Combination, Combination]:
    return (
        (*first[:factor], second[factor], *first[factor + 1 :]),
        (*second[:factor], first[factor], *second[factor + 1 :]),
    )
