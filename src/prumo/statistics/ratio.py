"""Geometric means and how many times as large one is as another, with intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, inf, log, log1p, sqrt
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr

from prumo.statistics.interval import (
    BOOTSTRAP_MINIMUM_VALUES,
    DEFAULT_CONFIDENCE,
    RESAMPLES,
    bootstrap_tail,
    t_quantile,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = Sequence[float]
    Pair = tuple[Values, Values]

# Logarithms that are no further apart than this differ by the rounding of their computation.
ROUNDING = 1e-12
# What lies further out is told as this: about the largest double, whose inverse is one too.
LARGEST_LOG = 700.0


@dataclass(frozen=True)
class Ratio:
    """A geometric mean, or a ratio of such means, with the interval that it is known to."""

    value: float
    low: float | None = None
    """None where there is no telling: a single value has no spread."""
    high: float | None = None
    p_value: float | None = None
    """The chance of values so far apart if the true ratio were 1."""

    @property
    def inverse(self) -> Ratio:
        """The same, seen from the other side."""
        low = None if self.high is None else 1 / self.high
        high = None if self.low is None else 1 / self.low
        return Ratio(1 / self.value, low, high, self.p_value)


@dataclass(frozen=True)
class LogMean:
    """A mean of logarithms and how sure it is."""

    mean: float
    variance: float | None
    """The squared error of the mean; None where there is no telling."""
    degrees_of_freedom: float

    @classmethod
    def of(cls, values: Values) -> LogMean:
        """That of the logarithms of positive values."""
        return cls.of_logs(np.log(np.asarray(values)))

    @classmethod
    def of_logs(cls, logs: NDArray[np.float64]) -> LogMean:
        """That of logarithms."""
        n = len(logs)
        if n == 1:
            return cls(float(logs[0]), None, 0)
        # Equal values have no spread; summing and dividing them would leave a rounding error.
        if np.ptp(logs) <= ROUNDING:
            return cls(float(logs[0]), 0.0, n - 1)
        return cls(float(logs.mean()), float(logs.var(ddof=1)) / n, n - 1)

    @classmethod
    def of_summary(cls, mean: float, deviation: float | None, n: int | None) -> LogMean:
        """That of n values of which only mean and deviation are known, taken as log-normal."""
        if deviation is None or n is None or n == 1:
            return cls(log(mean), None, 0)
        variance = log1p((deviation / mean) ** 2)
        return cls(log(mean) - variance / 2, variance / n, n - 1)


def geometric_mean(values: Values, confidence: float = DEFAULT_CONFIDENCE) -> Ratio:
    """The geometric mean of positive values with its log-t interval.

    Fleming and Wallace (1986), Communications of the ACM 29(3), on why ratios are averaged so.

    >>> round(geometric_mean([1.0, 10.0, 100.0]).value, 6)
    10.0
    """
    return _told(LogMean.of(values), confidence)


def ratio_of(values: Values, others: Values, confidence: float = DEFAULT_CONFIDENCE) -> Ratio:
    """The ratio of two geometric means: Welch's t interval and test on logarithms.

    Welch (1947), Biometrika 34: the two need not spread alike.
    """
    return mean_ratio([(values, others)], confidence)


def mean_ratio(pairs: Sequence[Pair], confidence: float = DEFAULT_CONFIDENCE) -> Ratio:
    """The geometric mean of the ratios of several pairs, every pair weighing the same.

    The interval is about just these pairs, from the spread of the values within each (degrees of
    freedom as by Welch and Satterthwaite). Where one has a single value, it rests instead on how
    the ratio differs between pairs, which is Student's paired t; if these do not differ at all,
    single values leave no spread to judge by.
    """
    return log_mean_ratio(
        [(LogMean.of(values), LogMean.of(others)) for values, others in pairs], confidence
    )


def log_mean_ratio(
    sides: Sequence[tuple[LogMean, LogMean]], confidence: float = DEFAULT_CONFIDENCE
) -> Ratio:
    """The same from means of logarithms, whose values need not be known."""
    differences = [one.mean - other.mean for one, other in sides]
    means = [mean for side in sides for mean in side]
    if any(mean.variance is None for mean in means):
        found = LogMean.of_logs(np.asarray(differences))
        return _told(found if found.variance else replace(found, variance=None), confidence)
    shares = [
        (mean.variance / len(sides) ** 2, mean.degrees_of_freedom)
        for mean in means
        if mean.variance is not None
    ]
    total = sum(share for share, _ in shares)
    curvature = sum(share**2 / degrees for share, degrees in shares)
    degrees_of_freedom = total**2 / curvature if curvature else inf
    return _told(LogMean(fmean(differences), total, degrees_of_freedom), confidence)


def bootstrap_ratio(
    pairs: Sequence[Pair], confidence: float = DEFAULT_CONFIDENCE, seed: int = 1
) -> tuple[float, float] | None:
    """The interval of the mean ratio without assuming how values spread, by the bootstrap.

    Expanded percentiles as in `bootstrap_interval`, by the side that has the fewest values; the
    BCa interval covers only 91 % with ten values a side. None below `BOOTSTRAP_MINIMUM_VALUES`.
    """
    fewest = min(len(values) for pair in pairs for values in pair)
    if fewest < BOOTSTRAP_MINIMUM_VALUES:
        return None
    source = np.random.default_rng(seed)
    means = [_resampled_means(np.log(values), source) for pair in pairs for values in pair]
    differences = np.mean(means[::2], axis=0) - np.mean(means[1::2], axis=0)
    outside = bootstrap_tail(fewest, confidence)
    low, high = np.exp(np.quantile(differences, [outside, 1 - outside]))
    return float(low), float(high)


def _resampled_means(
    values: NDArray[np.float64], source: np.random.Generator
) -> NDArray[np.float64]:
    chosen = source.integers(0, len(values), size=(RESAMPLES, len(values)))
    return np.asarray(values[chosen].mean(axis=1))


def _told(found: LogMean, confidence: float) -> Ratio:
    value = _number(found.mean)
    if found.variance is None:
        return Ratio(value)
    if found.variance == 0:
        if abs(found.mean) <= ROUNDING:
            return Ratio(1.0, 1.0, 1.0, 1.0)
        return Ratio(value, value, value, 0.0)
    error = sqrt(found.variance)
    width = t_quantile(confidence, found.degrees_of_freedom) * error
    p_value = 2 * float(stdtr(found.degrees_of_freedom, -abs(found.mean) / error))
    return Ratio(value, _number(found.mean - width), _number(found.mean + width), p_value)


def _number(logarithm: float) -> float:
    return exp(max(-LARGEST_LOG, min(logarithm, LARGEST_LOG)))
