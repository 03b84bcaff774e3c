"""Whether what a model leaves unexplained looks as F tests assume: normal, with one spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# With many runs every small departure is found, and F tests bear small ones
# (Box 1954, The Annals of Mathematical Statistics 25).
DEPARTURE_P_VALUE = 0.01
# The tables of Shapiro and Wilk begin and, as Royston extended them, end here.
NORMALITY_VALUES = range(3, 5001)
# Two runs are equally far from their median, whatever their spread.
SPREAD_RUNS = 3
# Distances that differ by less, relatively, differ by the rounding of their computation.
ROUNDING = 1e-9


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
    return bool(np.ptp(distances) <= ROUNDING * distances.max())
