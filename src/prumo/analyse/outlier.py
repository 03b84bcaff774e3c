"""Whether one run stands apart from its replications: Grubbs' test."""

from __future__ import annotations

from math import inf, sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from scipy.special import stdtr

if TYPE_CHECKING:
    from collections.abc import Sequence

MINIMUM_VALUES = 3


def grubbs_statistic(values: Sequence[float]) -> float:
    """How many standard deviations the farthest value is from the mean; 0 without a spread."""
    deviation = stdev(values)
    if deviation == 0:
        return 0.0
    mean = fmean(values)
    return max(abs(value - mean) for value in values) / deviation


def grubbs_p_value(values: Sequence[float]) -> float:
    """The chance that normal values hold one as far out as the farthest of these, two-sided.

    Grubbs (1969), Technometrics 11(1); NIST/SEMATECH e-Handbook, section 1.3.5.17.1.
    """
    n = len(values)
    if n < MINIMUM_VALUES:
        return 1.0
    statistic = grubbs_statistic(values)
    remainder = (n - 1) ** 2 - n * statistic**2
    t = sqrt(n * (n - 2) * statistic**2 / remainder) if remainder > 0 else inf
    return min(1.0, 2 * n * float(stdtr(n - 2, -t)))
