"""The times of scenarios, expected and simulated."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.analyse.forecast.trend import Array


@dataclass(frozen=True)
class Times:
    """Expected and simulated times: one column per scenario, of draws one row per draw."""

    wall_seconds: Array
    """Expected, of the mean run."""
    train_seconds: Array
    replications: Array
    wall_draws: Array
    train_draws: Array
    replication_draws: Array


def nothing(draws: int) -> Times:
    """No scenarios at all."""
    none, no_draws = np.zeros(0), np.zeros((draws, 0))
    return Times(none, none, none, no_draws, no_draws, no_draws)


def joined(parts: Sequence[Times], columns: Sequence[int]) -> Times:
    """The parts side by side, each column in the place that `columns` says."""
    order = np.argsort(columns).astype(int)
    return Times(
        *(
            np.concatenate([getattr(part, field.name) for part in parts], axis=-1)[..., order]
            for field in fields(Times)
        )
    )
