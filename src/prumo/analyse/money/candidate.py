"""A configuration to choose from: what it takes and costs, and whether it keeps limits. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from prumo.analyse.interval import DEFAULT_CONFIDENCE, Interval, mean_interval
from prumo.analyse.money.chance import FEWEST_RUNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prumo.analyse.money.chance import Plausible


class Strategy(StrEnum):
    """What makes a configuration the better one."""

    COST = "cost"
    SPEED = "speed"
    BALANCED = "balanced"


@dataclass(frozen=True)
class Need:
    """What is asked for."""

    strategy: Strategy
    deadline_seconds: float | None = None
    budget: float | None = None
    confidence: float = DEFAULT_CONFIDENCE

    @property
    def is_limited(self) -> bool:
        """Whether there is something to keep to."""
        return self.deadline_seconds is not None or self.budget is not None

    @property
    def needs_price(self) -> bool:
        """Whether it cannot be answered without money."""
        return self.strategy is not Strategy.SPEED or self.budget is not None


@dataclass(frozen=True)
class Figures:
    """The finished runs of one scenario."""

    scenario: str
    seconds: list[float]
    costs: list[float]
    """Empty where they have no price."""

    @property
    def is_single(self) -> bool:
        """Whether there is one run only, so that nothing about it is sure."""
        return len(self.seconds) < FEWEST_RUNS


@dataclass(frozen=True)
class Candidate:
    """One scenario and what the next run of it promises."""

    scenario: str
    seconds: Interval
    cost: Interval | None
    score: float
    """Of the strategy; less is better."""
    keeps_deadline: float | None
    """The chance that the next run ends in time; None where it is not asked or cannot be told."""
    keeps_budget: float | None
    keeps_all: float | None
    """The chance that the next run keeps all limits."""
    is_within: bool
    """Whether time and cost are within the limits on average."""

    @property
    def is_single(self) -> bool:
        """Whether there is one run only, so that nothing about it is sure."""
        return self.seconds.n < FEWEST_RUNS

    def excess(self, need: Need) -> float:
        """How many times the limits are exceeded on average, at worst."""
        ratios = [0.0]
        if need.deadline_seconds is not None:
            ratios.append(self.seconds.mean / need.deadline_seconds)
        if need.budget is not None and self.cost is not None:
            ratios.append(self.cost.mean / need.budget)
        return max(ratios)


def figures_of(runs: pl.DataFrame, time_metric: str, cost_metric: str | None) -> list[Figures]:
    """Times and costs of every scenario with finished runs, in the order of the table."""
    finished = runs.filter((pl.col("verdict") == "finished") & pl.col(time_metric).is_not_null())
    found = []
    for (scenario,), group in finished.group_by("scenario", maintain_order=True):
        costs = group[cost_metric].drop_nulls().to_list() if cost_metric else []
        complete = costs if len(costs) == group.height else []
        found.append(Figures(str(scenario), group[time_metric].to_list(), complete))
    return found


def candidate_of(figures: Figures, next_run: Plausible, score: float, need: Need) -> Candidate:
    """What is known of a scenario; `next_run` holds its draws alone."""
    seconds = mean_interval(figures.seconds, need.confidence, is_amount=True)
    cost = mean_interval(figures.costs, need.confidence, is_amount=True) if figures.costs else None
    limits = ((next_run.seconds, need.deadline_seconds), (next_run.costs, need.budget))
    kept = [None if limit is None else draws <= limit for draws, limit in limits]
    in_time, affordable = ((None if figures.is_single else _share(one)) for one in kept)
    asked = [one for one in kept if one is not None]
    is_late = need.deadline_seconds is not None and seconds.mean > need.deadline_seconds
    is_dear = need.budget is not None and (cost is None or cost.mean > need.budget)
    return Candidate(
        scenario=figures.scenario,
        seconds=seconds,
        cost=cost,
        score=score,
        keeps_deadline=in_time,
        keeps_budget=affordable,
        keeps_all=_share(np.all(asked, axis=0)) if asked and not figures.is_single else None,
        is_within=not is_late and not is_dear,
    )


def _share(kept: NDArray[np.bool_] | None) -> float | None:
    return None if kept is None else float(kept.mean())
