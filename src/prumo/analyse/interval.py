"""How sure a mean is: Student's t interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from scipy.special import stdtrit

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean and how far from it the true mean may be, at a confidence."""

    n: int
    mean: float
    half_width: float | None
    """None where there is no telling: a single value has no spread."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return None if self.half_width is None else self.mean + self.half_width


def mean_interval(values: Sequence[float], confidence: float = DEFAULT_CONFIDENCE) -> Interval:
    """The mean of at least one value with its t interval."""
    n, mean = len(values), fmean(values)
    if n == 1:
        return Interval(n, mean, None)
    return Interval(n, mean, t_quantile(confidence, n - 1) * stdev(values) / sqrt(n))


def relative_half_width_percent(
    values: Sequence[float], confidence: float = DEFAULT_CONFIDENCE
) -> float | None:
    """The half width in percent of the mean; None when fewer than two values or a mean of zero.

    >>> round(relative_half_width_percent([9.0, 10.0, 11.0]), 1)
    24.8
    """
    finite = [value for value in values if isfinite(value)]
    if len(finite) < 2:  # noqa: PLR2004 (a spread needs two values)
        return None
    interval = mean_interval(finite, confidence)
    if interval.half_width is None or interval.mean == 0:
        return None
    return 100 * interval.half_width / abs(interval.mean)


def t_quantile(confidence: float, degrees_of_freedom: float) -> float:
    """The two-sided Student t quantile, such as 2.776 for 95 % and 4 degrees of freedom."""
    return float(stdtrit(degrees_of_freedom, 0.5 + confidence / 2))
