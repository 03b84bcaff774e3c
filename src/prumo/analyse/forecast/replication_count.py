"""How many runs the scenarios of a study will get, as far as their noise decides it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from prumo.study import Adaptive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.analyse.forecast.learned_time import Spread
    from prumo.analyse.forecast.observation import Subject
    from prumo.analyse.forecast.trend import Array

MOST_REPLICATIONS = 10_000


def replications_of(
    subjects: Sequence[Subject], noise: Spread, draws: int, random: np.random.Generator
) -> tuple[Array, Array]:
    """The expected and the simulated number of runs of each subject."""
    wanted = subjects[0].replications
    if not isinstance(wanted, Adaptive):
        fixed = np.full(len(subjects), float(wanted))
        return fixed, np.broadcast_to(fixed, (draws, len(subjects)))
    expected = _enough(np.array([noise.deviation]), wanted)
    drawn = _enough(noise.draws(draws, random), wanted)
    return np.full(len(subjects), expected[0]), np.repeat(drawn[:, None], len(subjects), axis=1)


def _enough(deviations: Array, goal: Adaptive) -> Array:
    """How many runs with this relative deviation make the interval of the mean narrow enough."""
    counts = np.arange(goal.minimum, min(goal.maximum, goal.minimum + MOST_REPLICATIONS) + 1)
    half_widths = stdtrit(counts - 1, 0.5 + goal.confidence / 2) / np.sqrt(counts)
    allowed = goal.half_width_percent / 100 / np.maximum(deviations, 1e-9)
    # The half widths fall, so the first that is allowed is found from the other end.
    first = len(counts) - np.searchsorted(half_widths[::-1], allowed, side="right")
    chosen: Array = counts[np.minimum(first, len(counts) - 1)].astype(float)
    return chosen
