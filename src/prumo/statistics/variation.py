"""Where a metric's variation comes from: the share of every factor, interaction and of error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import fdtrc

from prumo.message import Message, Series
from prumo.statistics.effect import varying
from prumo.statistics.factorial import cells_of, fitted, supported, term_label
from prumo.statistics.metric import metric_of
from prumo.statistics.variation_remark import (
    design_remarks,
    exact_remarks,
    obstacle,
    scale_remark,
    share_remarks,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prumo.statistics.factorial import Cells, Fit, Term


# With many runs every small departure is found, and F tests bear small ones
# (Box 1954, The Annals of Mathematical Statistics 25).
DEPARTURE_P_VALUE = 0.01
# The tables of Shapiro and Wilk begin and, as Royston extended them, end here.
NORMALITY_VALUES = range(3, 5001)
# Two runs are equally far from their median, whatever their spread.
SPREAD_RUNS = 3
# Distances that differ by less, relatively, differ by the rounding of their computation.
RESIDUAL_ROUNDING = 1e-9


@dataclass(frozen=True)
class ResidualCheck:
    """The chances of residuals like these if they were normal and spread alike."""

    normality_p: float | None
    """Shapiro and Wilk's test; None with too few or too many values for it."""
    spread_p: float | None
    """Brown and Forsythe's test; None without two combinations of three runs or more."""

    @property
    def remarks(self) -> list[Message]:
        """What the checks found, in words."""
        said = []
        if self.normality_p is not None and self.normality_p < DEPARTURE_P_VALUE:
            said.append(
                Message(
                    "The residuals are not normal (Shapiro-Wilk, p = {p:.2g}): take p values near "
                    "the limit with caution. The shares hold all the same.",
                    {"p": self.normality_p},
                )
            )
        if self.spread_p is not None and self.spread_p < DEPARTURE_P_VALUE:
            said.append(
                Message(
                    "Some combinations spread more than others (Brown-Forsythe, p = {p:.2g}): take "
                    "p values near the limit with caution. The shares hold all the same.",
                    {"p": self.spread_p},
                )
            )
        if not said and self.normality_p is not None and self.spread_p is not None:
            said.append(
                Message(
                    "Nothing speaks against normal residuals of one spread (Shapiro-Wilk, "
                    "p = {normality:.2g}; Brown-Forsythe, p = {spread:.2g}).",
                    {"normality": self.normality_p, "spread": self.spread_p},
                )
            )
        return said


def check_residuals(groups: Sequence[NDArray[np.float64]]) -> ResidualCheck:
    """Check the residuals of each combination's runs."""
    return ResidualCheck(_normality(np.concatenate(groups)), _spread(groups))


def _normality(residuals: NDArray[np.float64]) -> float | None:
    from scipy.stats import shapiro  # noqa: PLC0415 (scipy.stats is slow to import)

    if len(residuals) not in NORMALITY_VALUES or np.ptp(residuals) == 0:
        return None
    return float(shapiro(residuals).pvalue)


def _spread(groups: Sequence[NDArray[np.float64]]) -> float | None:
    from scipy.stats import levene  # noqa: PLC0415 (scipy.stats is slow to import)

    repeated = [group for group in groups if len(group) >= SPREAD_RUNS]
    if len(repeated) < 2:  # noqa: PLR2004 (a pair)
        return None
    # Values of a coarse clock may all be equally far from their medians: the test has no answer.
    if all(_is_even(np.abs(group - np.median(group))) for group in repeated):
        return None
    return float(levene(*repeated, center="median").pvalue)


def _is_even(distances: NDArray[np.float64]) -> bool:
    return bool(np.ptp(distances) <= RESIDUAL_ROUNDING * distances.max())


SHARES_TOLD = 4
# A share that a reader would round away is not worth a place in a sentence.
LEAST_TOLD_SHARE = 0.005
# Of all squares: below it, what is left is the rounding of the computation.
ROUNDING = 1e-24


class Source(StrEnum):
    """What a row of the table is about."""

    FACTOR = "factor"
    INTERACTION = "interaction"
    OTHER = "other"
    """What differs between combinations and no term of the model explains."""
    ERROR = "error"


@dataclass(frozen=True)
class VariationRow:
    """One source of variation."""

    source: Source
    term: Term
    """The factors; none for what is left."""
    degrees_of_freedom: int
    sum_of_squares: float
    share: float
    """Of the total sum of squares, from 0 to 1."""
    f: float | None = None
    p_value: float | None = None

    @property
    def label(self) -> Message | Series:
        """What a reader calls it: its factors, or what it is that is left."""
        if self.source is Source.ERROR:
            return Message("error")
        if self.source is Source.OTHER:
            return Message("other interactions")
        return term_label(self.term)


@dataclass(frozen=True)
class Variation:
    """The allocation of a metric's variation; no rows where there is nothing to allot."""

    metric: str
    is_logarithmic: bool = False
    """Whether logarithms were analysed, so that effects multiply."""
    rows: tuple[VariationRow, ...] = ()
    """Factors, interactions, what they leave between combinations, error."""
    total_degrees_of_freedom: int = 0
    total_sum_of_squares: float = 0.0
    residuals: ResidualCheck | None = None
    """None where nothing is left to check."""
    remarks: tuple[Message, ...] = ()
    """What a reader must know to read the table, or why there is none."""

    @property
    def summary(self) -> Message | None:
        """The largest shares in a sentence; None where nothing was allotted."""
        if not self.rows:
            return None
        largest = sorted(
            (row for row in self.rows if row.source is not Source.ERROR), key=lambda row: -row.share
        )
        told = [row for row in largest[:SHARES_TOLD] if row.share >= LEAST_TOLD_SHARE]
        left = [row for row in self.rows if row.source is Source.ERROR]
        shares = [
            Message("{percent:.1f} % {source}", {"percent": 100 * row.share, "source": row.label})
            for row in [*told, *left]
        ]
        return Message(
            "{metric}, where its variation comes from: {shares}.",
            {"metric": metric_of(self.metric).title, "shares": Series(tuple(shares))},
        )


def variation(
    runs: pl.DataFrame,
    factors: Sequence[str],
    metric: str,
    *,
    logarithmic: bool | None = None,
) -> Variation:
    """Allot the variation of a metric over finished runs to the factors that vary.

    Jain (1991), The Art of Computer Systems Performance Analysis, chapters 17 to 23; Lilja (2000),
    Measuring Computer Performance. Where nobody says, logarithms are analysed of metrics that
    have a unit other than percent: factors multiply times, sizes and money, and add to the rest.
    Values that are not all positive are analysed as they are.
    """
    value = pl.col(metric)
    table = runs.filter((pl.col("verdict") == "finished") & value.is_not_null() & value.is_finite())
    wanted = is_multiplied(metric) if logarithmic is None else logarithmic
    is_logarithmic = wanted and bool(table.select((value > 0).all()).item())
    if is_logarithmic:
        table = table.with_columns(value.log())
    names = varying(table, factors)
    reason = obstacle(table, names, metric)
    if reason is not None:
        return Variation(metric, is_logarithmic, remarks=(reason,))
    found = _allotted(cells_of(table, names, metric), metric)
    scale = scale_remark(is_wanted=wanted, is_logarithmic=is_logarithmic)
    return replace(found, is_logarithmic=is_logarithmic, remarks=(scale, *found.remarks))


def is_multiplied(metric: str) -> bool:
    """Whether a metric is a time, a rate, a size or money, which factors multiply."""
    return metric_of(metric).unit not in {"", "%"}


def _allotted(cells: Cells, metric: str) -> Variation:
    support = supported(cells)
    total = cells.squares_total
    fit = fitted(cells, support.terms)
    error = _error(cells, fit, total)
    rows = [
        VariationRow(
            Source.FACTOR if len(found.term) == 1 else Source.INTERACTION,
            found.term,
            found.degrees_of_freedom,
            found.squares,
            found.squares / total,
        )
        for found in fit.terms
    ]
    if cells.degrees_within and fit.degrees_left:
        rows.append(_row(Source.OTHER, fit.degrees_left, fit.squares_left, total))
    is_noisy = error is not None and error.share > ROUNDING
    if error is not None:
        rows = [*(_tested(row, error) for row in rows), error] if is_noisy else [*rows, error]
    residuals = check_residuals(_residuals(cells, fit)) if is_noisy else None
    return Variation(
        metric=metric,
        rows=tuple(rows),
        total_degrees_of_freedom=int(cells.counts.sum()) - 1,
        total_sum_of_squares=total,
        residuals=residuals,
        remarks=(
            *design_remarks(cells, support, fit),
            *share_remarks(sum(row.share for row in rows)),
            *(exact_remarks(cells) if error is not None and not is_noisy else ()),
            *(residuals.remarks if residuals else ()),
        ),
    )


def _error(cells: Cells, fit: Fit, total: float) -> VariationRow | None:
    """The differences between runs of a combination; without any, what no term explains."""
    if cells.degrees_within:
        return _row(Source.ERROR, cells.degrees_within, cells.squares_within, total)
    if fit.degrees_left:
        return _row(Source.ERROR, fit.degrees_left, fit.squares_left, total)
    return None


def _row(source: Source, degrees_of_freedom: int, squares: float, total: float) -> VariationRow:
    return VariationRow(source, (), degrees_of_freedom, squares, squares / total)


def _tested(row: VariationRow, error: VariationRow) -> VariationRow:
    mean_square = row.sum_of_squares / row.degrees_of_freedom
    f = mean_square / (error.sum_of_squares / error.degrees_of_freedom)
    p_value = float(fdtrc(row.degrees_of_freedom, error.degrees_of_freedom, f))
    return replace(row, f=f, p_value=p_value)


def _residuals(cells: Cells, fit: Fit) -> list[NDArray[np.float64]]:
    if cells.degrees_within:
        return [deviations for deviations in cells.deviations if len(deviations) > 1]
    return [fit.residuals]
