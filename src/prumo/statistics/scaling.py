"""How a metric goes with a size: batch, image, threads, or any other numeric factor.

Three laws of two constants each are fitted to the geometric means of the levels, all by least
squares on logarithms because errors of times are relative: a power `a·x^b`, a line `a + b·x`, and a
shared part `a + b/x`, which is Amdahl's law for workers and the cost of steps for batches. The law
with the smallest AICc is told (Hurvich and Tsai 1989, Biometrika 76); all have as many constants,
so its correction for few points cancels. Laws within 2 of it are told to fit as well (Burnham and
Anderson 2002, Model Selection and Multimodel Inference). Intervals come from how far the level
means lie from the law, not from how replications spread, so that they hold for a law that is only
roughly right. Nothing is said outside the measured levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from prumo.statistics.interval import DEFAULT_CONFIDENCE, LARGEST_LOG, t_quantile
from prumo.statistics.summary import varying

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

CONSTANTS = 2
# Two constants go through any two levels; a third level is the first that can contradict.
FEWEST_LEVELS = 3
# A difference of AICc below this does not tell two laws apart (Burnham and Anderson, as above).
SUBSTANTIAL_AICC = 2.0
# A law that meets all levels exactly has no logarithm of its residuals: stop at rounding errors.
LEAST_SQUARES = 1e-20
# A seed is a number and no size.
NOT_SIZES = frozenset({"seed"})


class Law(StrEnum):
    """The shape of a dependence on x."""

    POWER = "power"
    LINE = "line"
    SHARED = "shared"


class Constant(NamedTuple):
    """A constant of a law with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ScalingFit:
    """The law by which a metric goes with one factor while all others stand still."""

    metric: str
    factor: str
    within: Mapping[str, Any]
    """The levels of the other factors that vary."""
    law: Law
    start: Constant
    """`a` of the law."""
    slope: Constant
    """`b` of the law: of a power, its exponent."""
    exponent: Constant
    """Of the power law, told whichever law fits best: what doubling the size does, roughly."""
    aicc_above_best: Mapping[Law, float]
    error_percent: float
    """How far levels lie from the law, as a standard deviation in percent."""
    levels: tuple[float, ...]
    means: tuple[float, ...]

    @property
    def rivals(self) -> list[Law]:
        """Other laws that these levels do not tell apart from the best."""
        return [
            law
            for law, above in self.aicc_above_best.items()
            if law is not self.law and above < SUBSTANTIAL_AICC
        ]


def scaling_fits(
    runs: pl.DataFrame,
    factors: Sequence[str],
    metric: str,
    confidence: float = DEFAULT_CONFIDENCE,
) -> list[ScalingFit]:
    """A fit for every numeric factor with three or more levels, in each combination of the others.

    Only finished runs with a positive metric count.
    """
    measured = runs.filter((pl.col("verdict") == "finished") & (pl.col(metric) > 0))
    varied = varying(measured, factors)
    sizes = [name for name in varied if name not in NOT_SIZES and runs.schema[name].is_numeric()]
    return [fit for size in sizes for fit in _fits(measured, size, varied, metric, confidence)]


def _fits(
    measured: pl.DataFrame, size: str, varied: Sequence[str], metric: str, confidence: float
) -> Iterator[ScalingFit]:
    others = [name for name in varied if name != size]
    means = (
        measured.filter(pl.col(size) > 0)
        .group_by(*others, size, maintain_order=True)
        .agg(pl.col(metric).log().mean().exp())
        .sort(size, maintain_order=True)
    )
    # A study with one factor that varies is one combination.
    groups = means.group_by(others, maintain_order=True) if others else [((), means)]
    for levels, group in groups:
        if group.height >= FEWEST_LEVELS:
            within = dict(zip(others, levels, strict=True))
            yield _fit(metric, size, within, group, confidence)


def _fit(
    metric: str, size: str, within: Mapping[str, Any], group: pl.DataFrame, confidence: float
) -> ScalingFit:
    x = group[size].cast(pl.Float64).to_numpy()
    y = group[metric].to_numpy()
    candidates = {law: _fitted(law, x, y) for law in Law}
    squares = {law: max(found.squares, LEAST_SQUARES) for law, found in candidates.items()}
    best = min(Law, key=lambda law: squares[law])
    start, slope = candidates[best].constants(confidence)
    degrees_of_freedom = len(x) - CONSTANTS
    return ScalingFit(
        metric=metric,
        factor=size,
        within=within,
        law=best,
        start=start,
        slope=slope,
        exponent=candidates[Law.POWER].constants(confidence)[1],
        aicc_above_best={law: float(len(x) * np.log(squares[law] / squares[best])) for law in Law},
        error_percent=100 * float(np.sqrt(squares[best] / degrees_of_freedom)),
        levels=tuple(x.tolist()),
        means=tuple(y.tolist()),
    )


@dataclass(frozen=True)
class _Fitted:
    """The constants of one law that come nearest to the logarithms, and how near they come."""

    law: Law
    found: Array
    jacobian: Array
    squares: float

    def constants(self, confidence: float) -> tuple[Constant, Constant]:
        degrees_of_freedom = len(self.jacobian) - CONSTANTS
        covariance = (
            np.linalg.pinv(self.jacobian.T @ self.jacobian) * self.squares / degrees_of_freedom
        )
        halves = t_quantile(confidence, degrees_of_freedom) * np.sqrt(np.diag(covariance))
        ends = np.stack([self.found - halves, self.found, self.found + halves])
        if self.law is Law.POWER:
            # Its first constant is fitted as a logarithm; few levels leave its ends far out.
            ends[:, 0] = np.exp(np.clip(ends[:, 0], -LARGEST_LOG, LARGEST_LOG))
        (low, slope_low), (value, slope), (high, slope_high) = ends.tolist()
        return Constant(value, low, high), Constant(slope, slope_low, slope_high)


def _fitted(law: Law, x: Array, y: Array) -> _Fitted:
    logs = np.log(y)
    if law is Law.POWER:
        matrix = np.column_stack([np.ones_like(x), np.log(x)])
        found = np.linalg.lstsq(matrix, logs)[0]
        return _Fitted(law, found, matrix, float(np.sum((matrix @ found - logs) ** 2)))
    from scipy.optimize import least_squares  # noqa: PLC0415 (slow, and few studies need it)

    matrix = np.column_stack([np.ones_like(x), x if law is Law.LINE else 1 / x])
    # Relative errors first: they are nearly those of logarithms, and have one solution.
    begin = np.linalg.lstsq(matrix / y[:, None], np.ones_like(y))[0]

    def residuals(constants: Array) -> Array:
        return _log(matrix @ constants) - logs

    found = least_squares(residuals, begin, x_scale=np.abs(begin) + np.finfo(float).tiny).x
    values = matrix @ found
    return _Fitted(law, found, matrix / values[:, None], float(np.sum((_log(values) - logs) ** 2)))


def _log(values: Array) -> Array:
    # A law that goes below zero is as wrong as can be, and still has to be a number.
    return np.log(np.maximum(values, np.finfo(float).tiny))
