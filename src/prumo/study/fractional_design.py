"""Fractional designs: a regular fraction of all combinations, and what it confounds."""

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Annotated, Literal

from pydantic import Field

from prumo.errors import did_you_mean
from prumo.study.design import Allowed, Combination, Design, Space
from prumo.study.section import Problem, Text

Generators = Mapping[str, tuple[str, ...]]

_MOST_WORDS = 100_000
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")
_LEAST_CLEAR_RESOLUTION = 3


class Fractional(Design):
    """A fraction of the full design: the level of a generated factor follows from others."""

    kind: Literal["fractional"]
    """A regular fraction of the full design."""
    generators: dict[Text, Annotated[tuple[Text, ...], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """Generated factor → factors whose level indices are summed, modulo the number of levels;
    the last factor from all others where nothing is said."""

    def problems(self, space: Space) -> Iterator[Problem]:
        """Generators that name unknown factors, go in circles, or mix numbers of levels."""
        generators = self._generators(space)
        if found := list(_generator_problems(generators, space)):
            yield from found
        elif prod(len(space.factors[generated]) for generated in generators) > _MOST_WORDS:
            yield Problem(("generators",), "too many generated factors")
        else:
            yield from super().problems(space)

    def remarks(self, space: Space) -> Iterator[str]:
        """The resolution: how many factors the shortest confounding joins."""
        resolution = self.resolution(space)
        if resolution is None:
            return
        roman = _ROMAN[resolution] if resolution < len(_ROMAN) else str(resolution)
        clear = resolution >= _LEAST_CLEAR_RESOLUTION
        yield f"resolution {roman}" + ("" if clear else ": effects of single factors are mixed up")

    def resolution(self, space: Space) -> int | None:
        """The length of the shortest word of the defining relation; None if nothing varies."""
        words = _words(self._generators(space), space)
        return min((sum(map(bool, word)) for word in words), default=None)

    def count(self, space: Space) -> int:
        """The product of the numbers of levels of the factors that are free."""
        generated = self._generators(space)
        return prod(len(levels) for name, levels in space.factors.items() if name not in generated)

    def combinations(self, space: Space, allowed: Allowed) -> Iterator[Combination]:
        """The allowed combinations that satisfy every generator."""
        equations = list(_equations(self._generators(space), space))
        return filter(allowed, _solutions((), space.counts, equations))

    def _generators(self, space: Space) -> Generators:
        if self.generators:
            return self.generators
        *others, last = space.factors
        return {last: tuple(others)}


def _generator_problems(generators: Generators, space: Space) -> Iterator[Problem]:
    for generated, sources in generators.items():
        place = ("generators", generated)
        unknown = [name for name in (generated, *sources) if name not in space.factors]
        circular = [name for name in sources if name in generators]
        if not sources:
            yield Problem((), "a fractional design needs two factors or more")
        elif unknown:
            hint = did_you_mean(unknown[0], space.factors)
            yield Problem(place, f"no such factor '{unknown[0]}'; {hint}")
        elif circular:
            yield Problem(place, f"'{circular[0]}' is generated itself")
        elif len(set(sources)) < len(sources):
            yield Problem(place, "names a factor twice")
        elif len({len(space.factors[name]) for name in (generated, *sources)}) > 1:
            counts = ", ".join(
                f"{name} {len(space.factors[name])}" for name in (generated, *sources)
            )
            yield Problem(place, f"needs factors with equal numbers of levels, not {counts}")


Equation = tuple[tuple[int, ...], int]
"""One coefficient per factor, and the modulus: the weighted indices sum to zero."""


def _equations(generators: Generators, space: Space) -> Iterator[Equation]:
    for generated, sources in generators.items():
        modulus = len(space.factors[generated])
        coefficients = dict.fromkeys(space.factors, 0) | dict.fromkeys(sources, -1 % modulus)
        yield tuple((coefficients | {generated: 1}).values()), modulus


def _solutions(
    prefix: Combination, counts: tuple[int, ...], equations: list[Equation]
) -> Iterator[Combination]:
    """Extend a prefix by every level that the equations ending at this factor permit."""
    factor = len(prefix)
    if factor == len(counts):
        yield prefix
        return
    ending = [
        (coefficients, modulus)
        for coefficients, modulus in equations
        if coefficients[factor] and not any(coefficients[factor + 1 :])
    ]
    for position in range(counts[factor]):
        longer = (*prefix, position)
        if all(
            sum(c * p for c, p in zip(coefficients, longer, strict=False)) % modulus == 0
            for coefficients, modulus in ending
        ):
            yield from _solutions(longer, counts, equations)


def _words(generators: Generators, space: Space) -> Iterator[tuple[int, ...]]:
    """Every word of the defining relation: sums of multiples of the equations.

    Equations of different moduli share no factor, so joining them never gives a shorter word.
    """
    equations = list(_equations(generators, space))
    for modulus in {modulus for _, modulus in equations if modulus > 1}:
        same = [coefficients for coefficients, other in equations if other == modulus]
        for multiples in product(range(modulus), repeat=len(same)):
            if any(multiples):
                yield tuple(
                    sum(m * c for m, c in zip(multiples, column, strict=True)) % modulus
                    for column in zip(*same, strict=True)
                )
