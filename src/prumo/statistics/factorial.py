"""A factorial model of measured combinations: the terms that they support, their type II sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Term = tuple[str, ...]
"""The factors of a main effect or of an interaction."""


# Ours: a longer table is not read, and a larger model is not computed while somebody waits.
MOST_TERMS = 100
MOST_PARAMETERS = 128


@dataclass(frozen=True)
class Cells:
    """The combinations of levels that were measured, each with its runs."""

    levels: Mapping[str, NDArray[np.intp]]
    """Factor → the number of its level in each combination."""
    counts: NDArray[np.float64]
    means: NDArray[np.float64]
    squares_within: float
    """The squared deviations of the runs from the means of their combinations."""
    deviations: tuple[NDArray[np.float64], ...]
    """The same deviations, combination by combination."""

    @property
    def degrees_within(self) -> int:
        """How many runs tell something about the differences between runs."""
        return int(self.counts.sum()) - len(self.counts)

    @property
    def squares_total(self) -> float:
        """The squared deviations of all runs from their common mean."""
        centred = self.means - np.average(self.means, weights=self.counts)
        return float(self.counts @ centred**2) + self.squares_within


@dataclass(frozen=True)
class Support:
    """The terms that a model of these combinations can tell apart, and why it has no others."""

    terms: tuple[Term, ...]
    aliased: tuple[str, ...] = ()
    """Factors whose levels change only together with those of others."""
    incomplete: tuple[Term, ...] = ()
    """Interactions of which combinations of levels were not measured."""
    is_confounded: bool = False
    """Whether interactions were left out because others, or factors, look the same."""
    is_cut: bool = False
    """Whether interactions were left out because there would be too many."""


@dataclass(frozen=True)
class Fit:
    """A model of the combinations' means, each weighing as many runs as it has."""

    terms: dict[Term, tuple[int, float]]
    """The degrees of freedom of each, and the squares that it adds to those without it."""
    squares_left: float
    """What differs between combinations and no term explains."""
    degrees_left: int
    residuals: NDArray[np.float64]


def cells_of(table: pl.DataFrame, factors: Sequence[str], metric: str) -> Cells:
    """The combinations of a table whose rows are runs with values."""
    # Deviations from any run's value are exact where a mean of large values would be rounded.
    value = pl.col(metric) - pl.col(metric).first()
    groups = (
        table.select(*(pl.col(factor).cast(pl.String) for factor in factors), value.alias(metric))
        .group_by(*factors, maintain_order=True)
        .agg(pl.col(metric))
    )
    values = [np.asarray(group, dtype=np.float64) for group in groups[metric]]
    means = np.array([_mean(group) for group in values])
    deviations = tuple(group - mean for group, mean in zip(values, means, strict=True))
    return Cells(
        levels={factor: _codes(groups[factor]) for factor in factors},
        counts=np.array([len(group) for group in values], dtype=np.float64),
        means=means,
        squares_within=float(sum(group @ group for group in deviations)),
        deviations=deviations,
    )


def supported(cells: Cells) -> Support:
    """Main effects, then interactions of ever more factors as long as these can be told apart."""
    terms, aliased = _main_effects(cells)
    factors = [term[0] for term in terms]
    incomplete: list[Term] = []
    for order in range(2, len(factors) + 1):
        possible = [
            term
            for term in combinations(factors, order)
            if all(part in terms for part in combinations(term, order - 1))
        ]
        complete = [term for term in possible if _is_complete(cells, term)]
        if not complete:
            incomplete += possible
            break
        larger = [*terms, *complete]
        columns = 1 + sum(_width(cells, term) for term in larger)
        if len(larger) > MOST_TERMS or columns > MOST_PARAMETERS:
            return Support(tuple(terms), aliased, tuple(incomplete), is_cut=True)
        if not cells.degrees_within and columns >= len(cells.counts):
            break
        if columns > len(cells.counts) or _rank(cells, larger) < columns:
            return Support(tuple(terms), aliased, tuple(incomplete), is_confounded=True)
        incomplete += [term for term in possible if term not in complete]
        terms = larger
    return Support(tuple(terms), aliased, tuple(incomplete))


def fitted(cells: Cells, terms: Sequence[Term]) -> Fit:
    """The least-squares fit, with the type II sum of squares of every term.

    Type II is what a term adds to all terms that do not contain it (Langsrud 2003, Statistics and
    Computing 13); with balanced data all types are the same. The terms must be supported ones:
    then no contrast depends on others, and orthogonal projections need no fit per term.
    """
    weights = np.sqrt(cells.counts)
    base, triangle = np.linalg.qr(_design(cells, terms) * weights[:, None])
    values = cells.means * weights
    # Within the model, only these coordinates count: as many as it has contrasts, not combinations.
    coordinates = base.T @ values
    residuals = values - base @ coordinates
    places = _places(cells, terms)
    squares = {
        term: (len(places[term]), _added_squares(triangle, coordinates, places, term))
        for term in terms
    }
    degrees_left = len(values) - triangle.shape[1]
    return Fit(squares, float(residuals @ residuals), degrees_left, residuals)


def _added_squares(
    triangle: NDArray[np.float64],
    coordinates: NDArray[np.float64],
    places: Mapping[Term, Sequence[int]],
    term: Term,
) -> float:
    """The squared length of the values along what the term adds to those that do not contain it."""
    without = [
        0,
        *(
            place
            for other, owned in places.items()
            if not set(term) <= set(other)
            for place in owned
        ),
    ]
    base, _ = np.linalg.qr(triangle[:, [*without, *places[term]]])
    added = base[:, len(without) :].T @ coordinates
    return float(added @ added)


def _places(cells: Cells, terms: Sequence[Term]) -> dict[Term, Sequence[int]]:
    """Where the contrasts of each term stand in the design, after the column of ones."""
    places: dict[Term, Sequence[int]] = {}
    start = 1
    for term in terms:
        places[term] = range(start, start + _width(cells, term))
        start += _width(cells, term)
    return places


def _main_effects(cells: Cells) -> tuple[list[Term], tuple[str, ...]]:
    terms: list[Term] = []
    aliased = []
    columns = 1
    for factor in cells.levels:
        larger = columns + _width(cells, (factor,))
        if larger > len(cells.counts) or _rank(cells, [*terms, (factor,)]) < larger:
            aliased.append(factor)
        else:
            terms.append((factor,))
            columns = larger
    return terms, tuple(aliased)


def _is_complete(cells: Cells, term: Term) -> bool:
    """Whether every combination of the levels of these factors was measured."""
    seen = set(zip(*(cells.levels[factor].tolist() for factor in term), strict=True))
    return len(seen) == prod(_level_count(cells, factor) for factor in term)


def _rank(cells: Cells, terms: Sequence[Term]) -> int:
    return int(np.linalg.matrix_rank(_design(cells, terms)))


def _design(cells: Cells, terms: Sequence[Term]) -> NDArray[np.float64]:
    """A row per combination: one, then the contrasts of every term."""
    ones = np.ones((len(cells.counts), 1))
    return np.hstack([ones, *(_columns(cells, term) for term in terms)])


def _columns(cells: Cells, term: Term) -> NDArray[np.float64]:
    """The products of the factors' contrasts, which sum to zero over the levels."""
    return reduce(
        lambda one, other: (one[:, :, None] * other[:, None, :]).reshape(len(one), -1),
        (_contrasts(cells.levels[factor]) for factor in term),
    )


def _contrasts(codes: NDArray[np.intp]) -> NDArray[np.float64]:
    last = int(codes.max())
    contrasts = np.vstack([np.eye(last), np.full((1, last), -1.0)])
    return contrasts[codes]


def _width(cells: Cells, term: Term) -> int:
    return prod(_level_count(cells, factor) - 1 for factor in term)


def _level_count(cells: Cells, factor: str) -> int:
    return int(cells.levels[factor].max()) + 1


def _codes(levels: pl.Series) -> NDArray[np.intp]:
    """Levels as numbers; a run that names none is at a level of its own."""
    numbers: dict[str | None, int] = {}
    return np.array([numbers.setdefault(level, len(numbers)) for level in levels], dtype=np.intp)


def _mean(values: NDArray[np.float64]) -> float:
    # Equal values have no spread; summing and dividing them would leave a rounding error of one.
    return float(values[0]) if (values == values[0]).all() else float(values.mean())
