"""The Pareto front of time and money, and how sure each scenario's place on it is. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from prumo.money.advice import figures_of
from prumo.money.difference import FEWEST_RUNS, by_work, exact_mean, plausible_means
from prumo.statistics.interval import DEFAULT_CONFIDENCE

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


class Standing(StrEnum):
    """Where a scenario stands, as far as its runs tell."""

    FRONT = "front"
    """Surely no other scenario is both faster and cheaper."""
    OPEN = "open"
    DOMINATED = "dominated"
    """Surely some other scenario is no worse in both and better in one."""


@dataclass(frozen=True)
class ParetoPoint:
    """One scenario in the picture of time and money."""

    scenario: str
    seconds: float
    cost: float
    on_front: bool
    """By the means alone."""
    chance_dominated: float | None
    """That some other scenario is truly both faster and cheaper; None with a single run."""
    standing: Standing


def pareto(
    runs: pl.DataFrame,
    time_metric: str,
    cost_metric: str,
    factors: Sequence[str] = (),
    confidence: float = DEFAULT_CONFIDENCE,
) -> list[ParetoPoint]:
    """Every scenario with finished and priced runs, beside those that do the same work.

    Training a smaller network is not a cheaper way to train a large one: `factors` tells apart
    what is done, and each work has a front of its own.
    """
    return [
        point
        for same in by_work(runs, factors)
        for point in _points(same, time_metric, cost_metric, confidence)
    ]


def dominated(seconds: NDArray[np.float64], costs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """In every row, which columns have another that is no worse in both and better in one."""
    order = np.lexsort((costs, seconds), axis=1)
    sorted_costs = np.take_along_axis(costs, order, axis=1)
    sorted_seconds = np.take_along_axis(seconds, order, axis=1)
    cheapest = np.minimum.accumulate(sorted_costs, axis=1)
    behind = np.zeros(order.shape, dtype=np.bool_)
    behind[:, 1:] = cheapest[:, :-1] <= sorted_costs[:, 1:]
    # The twin of the cheapest so far is no worse than it.
    twin = (np.diff(sorted_costs, axis=1) == 0) & (np.diff(sorted_seconds, axis=1) == 0)
    for column in range(1, order.shape[1]):
        same = twin[:, column - 1]
        behind[same, column] = behind[same, column - 1]
    result = np.empty_like(behind)
    np.put_along_axis(result, order, behind, axis=1)
    return result


def _points(
    runs: pl.DataFrame, time_metric: str, cost_metric: str, confidence: float
) -> list[ParetoPoint]:
    figures = [one for one in figures_of(runs, time_metric, cost_metric) if one.costs]
    if not figures:
        return []
    seconds, costs = [one.seconds for one in figures], [one.costs for one in figures]
    mean_seconds = np.array([exact_mean(values) for values in seconds])
    mean_costs = np.array([exact_mean(values) for values in costs])
    behind = dominated(mean_seconds[None], mean_costs[None])[0]
    chances = np.full(len(figures), np.nan)
    # Only scenarios with several runs count: of a single run nothing is known to be sure.
    several = [place for place, values in enumerate(seconds) if len(values) >= FEWEST_RUNS]
    if several:
        drawn = plausible_means([seconds[i] for i in several], [costs[i] for i in several])
        chances[several] = dominated(drawn.seconds, drawn.costs).mean(axis=0)
    points = []
    for place, one in enumerate(figures):
        chance = float(chances[place]) if place in several else None
        points.append(
            ParetoPoint(
                scenario=one.scenario,
                seconds=float(mean_seconds[place]),
                cost=float(mean_costs[place]),
                on_front=not behind[place],
                chance_dominated=chance,
                standing=_standing(chance, confidence, is_behind=bool(behind[place])),
            )
        )
    return points


def _standing(chance: float | None, confidence: float, *, is_behind: bool) -> Standing:
    """`is_behind` says it of the means, which those of single runs are among."""
    if chance is not None and chance >= confidence:
        return Standing.DOMINATED
    if chance is None or chance > 1 - confidence or is_behind:
        return Standing.OPEN
    return Standing.FRONT
