"""How likely a statement about true means is, from a few runs of each scenario. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Draws = NDArray[np.float64]

# The error of a chance near 95 % is then a sixth of a percent.
DRAWS = 20_000
FEWEST_RUNS = 2


@dataclass(frozen=True)
class Plausible:
    """What the truth may be: one row per draw, one column per scenario."""

    seconds: Draws
    costs: Draws

    def of(self, place: int) -> Plausible:
        """The draws of one scenario alone."""
        return Plausible(self.seconds[:, place], self.costs[:, place])


def plausible_means(
    seconds: Sequence[Sequence[float]], costs: Sequence[Sequence[float]], seed: int = 1
) -> Plausible:
    """True mean times and costs of scenarios as likely as their runs make them.

    Each scenario's pair is drawn from the bivariate t distribution around its means, so that 95 %
    of the draws are within Student's interval, and two scenarios differ as in the Behrens-Fisher
    distribution: Box and Tiao (1973), Bayesian Inference in Statistical Analysis, chapter 2. A run
    that takes longer also costs more, and the draws keep that. A scenario with a single run stands
    at its values: callers say that it is unsure.
    """
    return _drawn(seconds, costs, seed, of_next_run=False)


def plausible_runs(
    seconds: Sequence[Sequence[float]], costs: Sequence[Sequence[float]], seed: int = 1
) -> Plausible:
    """Time and cost of the next run of each scenario: spread of runs and doubt about the mean."""
    return _drawn(seconds, costs, seed, of_next_run=True)


def exact_mean(values: Sequence[float]) -> float:
    """The mean; of equal values just that, without the rounding error of summing and dividing."""
    return values[0] if min(values) == max(values) else fmean(values)


def chance_below(one: Draws, other: Draws | float) -> float:
    """The chance that one is below the other; a tie is half a chance."""
    return float(np.mean(one < other) + np.mean(one == other) / 2)


def _drawn(
    seconds: Sequence[Sequence[float]],
    costs: Sequence[Sequence[float]],
    seed: int,
    *,
    of_next_run: bool,
) -> Plausible:
    random = np.random.default_rng(seed)
    pairs = [
        _pair(np.array([time, cost], dtype=np.float64), random, of_next_run=of_next_run)
        for time, cost in zip(seconds, costs, strict=True)
    ]
    return Plausible(
        np.column_stack([pair[0] for pair in pairs]), np.column_stack([pair[1] for pair in pairs])
    )


def _pair(values: Draws, random: np.random.Generator, *, of_next_run: bool) -> Draws:
    """Draws of the time and the cost of one scenario, two rows."""
    runs = values.shape[1]
    means: Draws = np.array([[exact_mean(row)] for row in values.tolist()])
    if runs < FEWEST_RUNS:
        return np.repeat(means, DRAWS, axis=1)
    spread = sqrt(1 / runs + of_next_run)
    # Weighing the deviations of the runs by normal numbers gives their covariance to the draws; of
    # a triangle with the same products two numbers do, however many runs there are.
    _, deviations = np.linalg.qr((values - means).T)
    shifts = deviations.T @ random.standard_normal((len(deviations), DRAWS))
    scale = np.sqrt(random.chisquare(runs - 1, DRAWS))
    drawn: Draws = means + spread * shifts / scale
    return drawn
