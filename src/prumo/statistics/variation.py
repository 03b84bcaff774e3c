"""Where a metric's variation comes from: the share of every factor, interaction and of error."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import fdtrc

from prumo.statistics.factorial import cells_of, fitted, supported
from prumo.statistics.metric import metric_of
from prumo.statistics.summary import varying

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from prumo.statistics.factorial import Cells, Fit, Support, Term

# Shares that add up to within this of one show as 100 %.
ROUNDED_SHARE = 0.0005
# With many runs every small departure is found, and F tests bear small ones
# (Box 1954, The Annals of Mathematical Statistics 25).
DEPARTURE_P_VALUE = 0.01
# The tables of Shapiro and Wilk begin and, as Royston extended them, end here.
NORMALITY_VALUES = range(3, 5001)
# Two runs are equally far from their median, whatever their spread.
SPREAD_RUNS = 3
# Distances that differ by less, relatively, differ by the rounding of their computation.
RESIDUAL_ROUNDING = 1e-9

# Of all squares: below it, what is left is the rounding of the computation.
ROUNDING = 1e-24


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
    wanted = metric_of(metric).unit not in {"", "%"} if logarithmic is None else logarithmic
    is_logarithmic = wanted and bool(table.select((value > 0).all()).item())
    if is_logarithmic:
        table = table.with_columns(value.log())
    names = varying(table, factors)
    obstacle = _obstacle(table, names, metric)
    if obstacle is not None:
        return Variation(metric, is_logarithmic, findings=(Finding(obstacle),))
    found = _allotted(cells_of(table, names, metric), metric)
    unscaled = FindingKind.NO_LOGARITHMS if wanted else FindingKind.AS_THEY_ARE
    scale = FindingKind.LOGARITHMS if is_logarithmic else unscaled
    findings = (Finding(scale), *found.findings)
    return replace(found, is_logarithmic=is_logarithmic, findings=findings)


class FindingKind(StrEnum):
    """What a reader must know to read an allocation of variation."""

    NO_VALUES = "no_values"
    NO_FACTORS = "no_factors"
    NO_VARIATION = "no_variation"
    LOGARITHMS = "logarithms"
    NO_LOGARITHMS = "no_logarithms"
    AS_THEY_ARE = "as_they_are"
    ALIASED = "aliased"
    INTERACTIONS_CONFOUNDED = "interactions_confounded"
    FRACTION = "fraction"
    NO_COMPLETE_PAIR = "no_complete_pair"
    INCOMPLETE = "incomplete"
    TOO_MANY_INTERACTIONS = "too_many_interactions"
    INTERACTIONS_AS_ERROR = "interactions_as_error"
    NO_ERROR_LEFT = "no_error_left"
    OVERLAPPING_SHARES = "overlapping_shares"
    NO_SPREAD_WITHIN = "no_spread_within"
    EXACT = "exact"
    NOT_NORMAL = "not_normal"
    UNEQUAL_SPREAD = "unequal_spread"
    GOOD_RESIDUALS = "good_residuals"


@dataclass(frozen=True)
class Finding:
    """One finding, with the factors, terms or numbers that it is about."""

    kind: FindingKind
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ResidualCheck:
    """The chances of residuals like these if they were normal and spread alike."""

    normality_p: float | None
    """Shapiro and Wilk's test; None with too few or too many values for it."""
    spread_p: float | None
    """Brown and Forsythe's test; None without two combinations of three runs or more."""

    def findings(self) -> Iterator[Finding]:
        """What the checks found."""
        normality, spread = self.normality_p, self.spread_p
        is_normal = normality is None or normality >= DEPARTURE_P_VALUE
        is_even = spread is None or spread >= DEPARTURE_P_VALUE
        if not is_normal:
            yield Finding(FindingKind.NOT_NORMAL, {"p": normality})
        if not is_even:
            yield Finding(FindingKind.UNEQUAL_SPREAD, {"p": spread})
        if is_normal and is_even and normality is not None and spread is not None:
            yield Finding(FindingKind.GOOD_RESIDUALS, {"normality": normality, "spread": spread})


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
    distances = [np.abs(group - np.median(group)) for group in repeated]
    if all(np.ptp(several) <= RESIDUAL_ROUNDING * several.max() for several in distances):
        return None
    return float(levene(*repeated, center="median").pvalue)


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


@dataclass(frozen=True)
class Variation:
    """The allocation of a metric's variation; no rows where there is nothing to allot."""

    metric: str
    is_logarithmic: bool = False
    """Whether logarithms were analysed, so that effects multiply."""
    rows: tuple[VariationRow, ...] = ()
    """Factors, interactions, what they leave between combinations, error."""
    residuals: ResidualCheck | None = None
    """None where nothing is left to check."""
    findings: tuple[Finding, ...] = ()
    """What a reader must know to read the table, or why there is none."""


def _allotted(cells: Cells, metric: str) -> Variation:
    support = supported(cells)
    total = cells.squares_total
    fit = fitted(cells, support.terms)

    def row(source: Source, degrees: int, squares: float, term: Term = ()) -> VariationRow:
        return VariationRow(source, term, degrees, squares, squares / total)

    rows = [
        row(Source.FACTOR if len(term) == 1 else Source.INTERACTION, degrees, squares, term)
        for term, (degrees, squares) in fit.terms.items()
    ]
    # Error is what runs of a combination differ by; without any, what no term explains.
    error, residuals = None, [fit.residuals]
    if cells.degrees_within:
        if fit.degrees_left:
            rows.append(row(Source.OTHER, fit.degrees_left, fit.squares_left))
        error = row(Source.ERROR, cells.degrees_within, cells.squares_within)
        residuals = [several for several in cells.deviations if len(several) > 1]
    elif fit.degrees_left:
        error = row(Source.ERROR, fit.degrees_left, fit.squares_left)
    check = None
    if error is not None and error.share > ROUNDING:
        rows = [_tested(one, error) for one in rows]
        check = check_residuals(residuals)
    rows += [error] if error is not None else []
    return Variation(
        metric=metric,
        rows=tuple(rows),
        residuals=check,
        findings=(
            *_design_findings(cells, support, fit),
            *_share_findings(rows, cells, is_exact=error is not None and check is None),
            *(check.findings() if check else ()),
        ),
    )


def _tested(row: VariationRow, error: VariationRow) -> VariationRow:
    mean_square = row.sum_of_squares / row.degrees_of_freedom
    f = mean_square / (error.sum_of_squares / error.degrees_of_freedom)
    p_value = float(fdtrc(row.degrees_of_freedom, error.degrees_of_freedom, f))
    return replace(row, f=f, p_value=p_value)


def _obstacle(table: pl.DataFrame, factors: Sequence[str], metric: str) -> FindingKind | None:
    """Why there is nothing to allot; None where there is."""
    if table.is_empty():
        return FindingKind.NO_VALUES
    if not factors:
        return FindingKind.NO_FACTORS
    if table[metric].min() == table[metric].max():
        return FindingKind.NO_VARIATION
    return None


def _design_findings(cells: Cells, support: Support, fit: Fit) -> Iterator[Finding]:
    """Which effects the measured combinations can separate, and which they cannot."""
    if support.aliased:
        yield Finding(FindingKind.ALIASED, {"factors": tuple(support.aliased)})
    has_interactions = any(len(term) > 1 for term in support.terms)
    if support.is_confounded:
        yield Finding(
            FindingKind.INTERACTIONS_CONFOUNDED if has_interactions else FindingKind.FRACTION
        )
    elif support.incomplete and not has_interactions:
        yield Finding(FindingKind.NO_COMPLETE_PAIR)
    elif support.incomplete:
        yield Finding(FindingKind.INCOMPLETE, {"terms": tuple(support.incomplete)})
    if support.is_cut:
        yield Finding(FindingKind.TOO_MANY_INTERACTIONS)
    if not cells.degrees_within:
        yield Finding(
            FindingKind.INTERACTIONS_AS_ERROR if fit.degrees_left else FindingKind.NO_ERROR_LEFT
        )


def _share_findings(
    rows: Sequence[VariationRow], cells: Cells, *, is_exact: bool
) -> Iterator[Finding]:
    total_share = sum(row.share for row in rows)
    if abs(total_share - 1) > ROUNDED_SHARE:
        yield Finding(FindingKind.OVERLAPPING_SHARES, {"percent": 100 * total_share})
    # Why there are no tests where nothing is left as error.
    if is_exact:
        yield Finding(FindingKind.NO_SPREAD_WITHIN if cells.degrees_within else FindingKind.EXACT)
