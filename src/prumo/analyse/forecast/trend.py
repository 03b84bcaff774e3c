"""Seconds as a function of sizes, fitted to measured runs, with what is not known of it. Pure.

Two forms: a sum of costs for work whose sizes are counted (so much per step, per FLOP, per byte),
and a product of powers for programs of which only the factor levels are known. Errors are relative,
so both give a prediction interval in the usual way of linear regression: the further a case lies
from the measured ones, the wider it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.optimize import nnls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROUNDS = 8
"""Of reweighting; the weights no longer move after four or five."""
LEVEL_SPREAD = 0.7
"""Of the logarithm of a time between two levels that nobody measured: a factor of two."""
EXPONENT_SPREAD = 1.0
"""Most times grow with a size to a power between -1 and 1."""
FITTING_SPREAD = 0.1
"""How exactly the powers follow the measured runs."""
TINY = 1e-12


@dataclass(frozen=True)
class Prediction:
    """The logarithm of seconds for some cases, and how each moves with the coefficients."""

    log_seconds: Array
    sensitivities: Array
    """One row per case: the change of the logarithm per change of a coefficient."""


class Trend(Protocol):
    """What a form of a trend can tell."""

    def predict(self, sizes: Array) -> Prediction:
        """The cases with these sizes, one row each."""

    def covariance(self, rows: Array, variance: float) -> Array:
        """Of the coefficients, for measured cases with these sensitivities and this variance."""

    def degrees(self, rows: Array) -> float:
        """How many of the measured cases the coefficients use up."""


@dataclass(frozen=True)
class SumOfCosts:
    """Seconds = a cost for each size, none of them negative."""

    costs: Array
    """Per size as a share of the largest measured one."""
    scales: Array

    def predict(self, sizes: Array) -> Prediction:
        """The cases with these sizes."""
        terms = sizes / self.scales * self.costs
        seconds = np.maximum(terms.sum(axis=1), TINY)
        return Prediction(np.log(seconds), terms / seconds[:, None])

    def covariance(self, rows: Array, variance: float) -> Array:
        """Of the costs' relative errors; costs of nothing have none."""
        active = self.costs > 0
        inverse = np.zeros((len(self.costs), len(self.costs)))
        inverse[np.ix_(active, active)] = np.linalg.pinv(rows[:, active].T @ rows[:, active])
        return variance * inverse

    def degrees(self, rows: Array) -> float:
        """The number of costs that are not nothing."""
        del rows
        return float(np.count_nonzero(self.costs))


@dataclass(frozen=True)
class ProductOfPowers:
    """Seconds = a constant times a power of each size times a factor for each level."""

    coefficients: Array
    looseness: Array
    """How far each coefficient may be from zero where nothing was measured; inf for the first."""

    def predict(self, sizes: Array) -> Prediction:
        """The cases with these sizes, which are logarithms, or 0 and 1 for levels."""
        return Prediction(sizes @ self.coefficients, sizes)

    def covariance(self, rows: Array, variance: float) -> Array:
        """Of the coefficients; those that no run told of are as loose as before."""
        inverse = np.linalg.inv(_precision(rows, variance, self.looseness))
        return inverse.astype(np.float64)

    def degrees(self, rows: Array) -> float:
        """The trace of the matrix that makes fitted values of measured ones."""
        variance = FITTING_SPREAD**2
        return float(np.trace(rows @ self.covariance(rows, variance) @ rows.T) / variance)


def sum_of_costs(sizes: Array, seconds: Array) -> SumOfCosts:
    """The costs that suit these runs best, all runs counting alike in relative terms."""
    scales = np.maximum(sizes.max(axis=0), TINY)
    scaled = sizes / scales
    expected, costs = seconds, np.zeros(sizes.shape[1])
    for _ in range(ROUNDS):
        # Weighing with what was measured would favour the runs that came out short.
        costs, _residual = nnls(scaled / expected[:, None], seconds / expected)
        expected = np.maximum(scaled @ costs, TINY)
    return SumOfCosts(costs, scales)


def product_of_powers(sizes: Array, is_level: NDArray[np.bool_], seconds: Array) -> ProductOfPowers:
    """The powers and factors that suit these runs, near zero where they tell little.

    The first column is the constant. `is_level` says which columns are levels of a category.
    """
    looseness = np.where(is_level, LEVEL_SPREAD, EXPONENT_SPREAD)
    looseness[0] = np.inf
    variance = FITTING_SPREAD**2
    answers = sizes.T @ np.log(seconds) / variance
    coefficients = np.linalg.solve(_precision(sizes, variance, looseness), answers)
    return ProductOfPowers(coefficients.astype(np.float64), looseness)


def _precision(rows: Array, variance: float, looseness: Array) -> Array:
    precision: Array = rows.T @ rows / variance + np.diag(looseness**-2.0)
    return precision
