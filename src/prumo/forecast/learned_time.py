"""What measured runs teach about the time of others: a trend, and how far cases are from it. Pure.

The logarithm of a time is taken as the trend, plus an effect of its place (the same scenario gives
the same effect), plus noise from run to run. Places that were measured are pulled from the trend
towards their own runs, the more the more runs there are; others keep the trend and the spread of
places around it. This is the usual mixed model; variances start from a stated guess that measured
ones outweigh as they come in (a scaled inverse chi-squared prior: Gelman and others, Bayesian Data
Analysis, 3rd edition, section 3.3).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PLACE_SPREAD = 0.35
"""Around the trend; 24 CPU trainings in three frameworks lay 0.2 to 0.3 from theirs."""
NOISE_SPREAD = 0.2
"""From run to run, where nothing was repeated; on a busy machine the same had 0.2 to 0.4."""
GUESS_WEIGHT = 4
"""How many measured values each of the two guesses is worth."""
LEAST_SPREAD = 0.02
LARGEST_LOGARITHM = 50.0
"""Longer than the age of the universe; only draws of what rests on nothing come near."""


@dataclass(frozen=True)
class Spread:
    """A standard deviation of logarithms, and on how many values it rests."""

    deviation: float
    degrees: float

    def draws(self, count: int, random: np.random.Generator) -> Array:
        """Deviations that the true one may be: wide when it rests on few values."""
        chance: Array = random.chisquare(self.degrees, count)
        drawn: Array = self.deviation * np.sqrt(self.degrees / chance)
        return drawn


@dataclass(frozen=True)
class LearnedTime:
    """The time of one part of a run, for one kind of runs."""

    trend: Trend
    rows: Array
    """How the measured places move with the trend's coefficients."""
    places: Spread
    noise: Spread
    effects: dict[Hashable, tuple[float, int]]
    """Place → the mean distance of its runs from the trend, and how many runs."""

    def expected(self, sizes: Array, places: Sequence[Hashable]) -> Array:
        """Seconds of the mean run of each case."""
        log_seconds, _ = self._cases(sizes, places)
        seconds: Array = np.exp(log_seconds + self.noise.deviation**2 / 2)
        return seconds

    def draws(
        self,
        sizes: Array,
        places: Sequence[Hashable],
        runs: Array,
        count: int,
        random: np.random.Generator,
    ) -> Array:
        """What the mean of so many runs of each case may be: a row per draw, a column per case."""
        log_seconds, trust = self._cases(sizes, places)
        deviation = self.places.draws(count, random)[:, None]
        noise = self.noise.draws(count, random)[:, None]
        covariance = self.trend.covariance(self.rows, self.places.deviation**2)
        shifts = random.multivariate_normal(
            np.zeros(len(covariance)), covariance, size=count, method="eigh"
        )
        sensitivities = self.trend.predict(sizes).sensitivities
        logs = (
            log_seconds
            + (1 - trust) * deviation / self.places.deviation * (shifts @ sensitivities.T)
            + np.sqrt(1 - trust) * deviation * random.standard_normal((count, len(trust)))
            + noise / np.sqrt(runs) * random.standard_normal((count, len(trust)))
            + self.noise.deviation**2 / 2
        )
        seconds: Array = np.exp(np.minimum(logs, LARGEST_LOGARITHM))
        return seconds

    def _cases(self, sizes: Array, places: Sequence[Hashable]) -> tuple[Array, Array]:
        """The logarithm of each case's seconds, and how much of it, 0 to 1, its own runs tell."""
        found = [self.effects.get(place, (0.0, 0)) for place in places]
        effects, runs = np.array(found, dtype=float).T
        spread = self.places.deviation**2
        trust = spread * runs / (spread * runs + self.noise.deviation**2)
        return self.trend.predict(sizes).log_seconds + trust * effects, trust


def learn(trend: Trend, sizes: Array, places: Sequence[Hashable], seconds: Array) -> LearnedTime:
    """What runs with these sizes, places and seconds teach, around a trend fitted to them."""
    prediction = trend.predict(sizes)
    residuals = np.log(seconds) - prediction.log_seconds
    members: dict[Hashable, list[int]] = {}
    for index, place in enumerate(places):
        members.setdefault(place, []).append(index)
    effects = {place: (float(residuals[own].mean()), len(own)) for place, own in members.items()}
    rows = np.array([prediction.sensitivities[own].mean(axis=0) for own in members.values()])
    within = float(
        sum(((residuals[own] - residuals[own].mean()) ** 2).sum() for own in members.values())
    )
    noise = _spread(NOISE_SPREAD, within, len(seconds) - len(members))
    means = np.array([mean for mean, _ in effects.values()])
    spread = _spread(PLACE_SPREAD, float((means**2).sum()), len(members) - trend.degrees(rows))
    return LearnedTime(trend, rows, spread, noise, effects)


def _spread(guess: float, squares: float, degrees: float) -> Spread:
    total = GUESS_WEIGHT + max(0.0, degrees)
    variance = (GUESS_WEIGHT * guess**2 + squares) / total
    return Spread(max(LEAST_SPREAD, float(np.sqrt(variance))), total)


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


@dataclass(frozen=True)
class SumOfCosts:
    """Seconds = a cost for each size, none of them negative."""

    costs: Array
    """Per size as a share of the largest measured one."""
    scales: Array

    def predict(self, sizes: Array) -> Prediction:
        """The cases with these sizes, one row each."""
        terms = sizes / self.scales * self.costs
        seconds = np.maximum(terms.sum(axis=1), TINY)
        return Prediction(np.log(seconds), terms / seconds[:, None])

    def covariance(self, rows: Array, variance: float) -> Array:
        """Of the costs' relative errors, for measured cases with these sensitivities.

        Costs of nothing have none.
        """
        active = self.costs > 0
        inverse = np.zeros((len(self.costs), len(self.costs)))
        inverse[np.ix_(active, active)] = np.linalg.pinv(rows[:, active].T @ rows[:, active])
        return variance * inverse

    def degrees(self, _rows: Array) -> float:
        """How many of the measured cases the costs use up: one for each that is not nothing."""
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


Trend = SumOfCosts | ProductOfPowers


def sum_of_costs(sizes: Array, seconds: Array) -> SumOfCosts:
    """The costs that suit these runs best, all runs counting alike in relative terms."""
    from scipy.optimize import nnls  # noqa: PLC0415 (slow, and a report needs none of it)

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
