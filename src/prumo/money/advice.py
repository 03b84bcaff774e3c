"""Which configuration to choose, which comes next, and how sure the choice is. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from prumo.errors import InputError
from prumo.money.cost import images_metric
from prumo.money.difference import (
    FEWEST_RUNS,
    Aspect,
    Difference,
    Draws,
    chance_below,
    exact_mean,
    plausible_means,
    plausible_runs,
)
from prumo.money.terms import Strategy
from prumo.statistics.interval import DEFAULT_CONFIDENCE, Interval, mean_interval


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


def _candidate(
    figures: Figures, next_run: tuple[Draws, Draws], score: float, need: Need
) -> Candidate:
    """What is known of a scenario; `next_run` holds draws of its time and its cost."""
    seconds = mean_interval(figures.seconds, need.confidence, is_amount=True)
    cost = mean_interval(figures.costs, need.confidence, is_amount=True) if figures.costs else None
    limits = {"deadline": need.deadline_seconds, "budget": need.budget}
    kept = {}
    for (name, limit), draws in zip(limits.items(), next_run, strict=True):
        # Of a single run nothing is sure.
        if limit is not None and seconds.n >= FEWEST_RUNS:
            kept[name] = draws <= limit
    shares = {name: float(one.mean()) for name, one in kept.items()}
    is_late = need.deadline_seconds is not None and seconds.mean > need.deadline_seconds
    is_expensive = need.budget is not None and (cost is None or cost.mean > need.budget)
    return Candidate(
        scenario=figures.scenario,
        seconds=seconds,
        cost=cost,
        score=float(score),
        keeps_deadline=shares.get("deadline"),
        keeps_budget=shares.get("budget"),
        keeps_all=float(np.all([*kept.values()], axis=0).mean()) if kept else None,
        is_within=not is_late and not is_expensive,
    )


# The weight of cost; as in aws-lambda-power-tuning, lambda/analyzer.js: half for cost, half for
# time, each as a share of the largest.
WEIGHTS = {Strategy.COST: 1.0, Strategy.SPEED: 0.0, Strategy.BALANCED: 0.5}
# What keeps the limits in fewer cases than not is not advised.
LIKELY = 0.5


@dataclass(frozen=True)
class RunnerUp:
    """The next best, and how the choice compares with it."""

    candidate: Candidate
    chance_better: float | None
    """That the choice is truly better by the strategy; None where a single run cannot tell."""
    differences: tuple[Difference, ...]
    """In cost, where both have a price, and in time."""


@dataclass(frozen=True)
class Advice:
    """The answer, for programs; `advice_sentence` says it in words."""

    need: Need
    ranking: tuple[Candidate, ...]
    """Those that keep the limits, the best first."""
    runner_up: RunnerUp | None
    chance_best: float | None
    """That the choice is truly the best of the ranking."""
    others: tuple[Candidate, ...]
    """Those that do not keep the limits, or less surely; the nearest to it first."""
    unpriced: tuple[str, ...]
    """Scenarios left out because a run of theirs has no cost."""

    @property
    def choice(self) -> Candidate | None:
        """The one to choose; None where no configuration keeps the limits."""
        return self.ranking[0] if self.ranking else None

    @property
    def keeps_surely(self) -> bool:
        """Whether the choice keeps the limits with the confidence asked for."""
        if self.choice is None or not self.need.is_limited:
            return self.choice is not None
        chance = self.choice.keeps_all
        return chance is not None and chance >= self.need.confidence


def advise(runs: pl.DataFrame, time_metric: str, cost_metric: str | None, need: Need) -> Advice:
    """Rank the scenarios with finished runs by what is asked.

    Where money matters, scenarios without a price are left out and named.
    """
    found = figures_of(runs, time_metric, cost_metric)
    figures = [one for one in found if one.costs or not need.needs_price]
    unpriced = tuple(one.scenario for one in found if one not in figures)
    if not figures:
        return Advice(need, (), None, None, (), unpriced)
    field = _Field(figures, need)
    ranked = _ranked(field.candidates, need)
    others = [one for one in field.candidates if one not in ranked]
    return Advice(
        need=need,
        ranking=tuple(ranked),
        runner_up=field.runner_up(ranked),
        chance_best=field.chance_best(ranked),
        others=tuple(sorted(others, key=lambda one: (one.excess(need), one.score))),
        unpriced=unpriced,
    )


class _Field:
    """All that may be chosen, with what the truth about each may be."""

    def __init__(self, figures: Sequence[Figures], need: Need) -> None:
        self._need, self._figures = need, figures
        seconds = [one.seconds for one in figures]
        costs = [one.costs or [0.0] * len(one.seconds) for one in figures]
        self._means = plausible_means(seconds, costs)
        mean_seconds = np.array([exact_mean(values) for values in seconds])
        mean_costs = np.array([exact_mean(values) for values in costs])
        weight = WEIGHTS[need.strategy]
        # Divided by what was observed and not by each draw's own, a score stays a plain sum.
        self._cost_share = weight / (mean_costs.max() or 1.0)
        self._time_share = (1 - weight) / (mean_seconds.max() or 1.0)
        self._scores = self._score(self._means.seconds, self._means.costs)
        self._places = {one.scenario: place for place, one in enumerate(figures)}
        scores = self._score(mean_seconds, mean_costs)
        nexts = plausible_runs(seconds, costs)
        self.candidates = [
            _candidate(one, (nexts.seconds[:, place], nexts.costs[:, place]), scores[place], need)
            for place, one in enumerate(figures)
        ]

    def runner_up(self, ranked: Sequence[Candidate]) -> RunnerUp | None:
        """The second of the ranking against the first."""
        if not ranked[1:]:
            return None
        choice, second = ranked[:2]
        places = [self._places[one.scenario] for one in (choice, second)]
        mine, theirs = (self._figures[place] for place in places)
        costs, seconds = {*mine.costs, *theirs.costs}, {*mine.seconds, *theirs.seconds}
        is_unsure = choice.is_single or second.is_single
        differences = []
        for aspect, one, other, values, means in (
            (Aspect.COST, choice.cost, second.cost, costs, self._means.costs),
            (Aspect.TIME, choice.seconds, second.seconds, seconds, self._means.seconds),
        ):
            if one is None or other is None:
                continue
            chance = None if is_unsure else chance_below(*means[:, places].T)
            differences.append(
                Difference(
                    aspect=aspect,
                    one=choice.scenario,
                    other=second.scenario,
                    one_mean=one.mean,
                    other_mean=other.mean,
                    chance_less=chance,
                    confidence=self._need.confidence,
                    is_same=len(values) == 1,
                )
            )
        return RunnerUp(second, self.chance_best([choice, second]), tuple(differences))

    def chance_best(self, ranked: Sequence[Candidate]) -> float | None:
        """That the first of the ranking is truly the best of it.

        Of equal scores the faster is the better, as in the ranking; full ties are shared.
        """
        if not ranked[1:] or any(one.is_single for one in ranked):
            return None
        places = [self._places[one.scenario] for one in ranked]
        scores = self._scores[:, places]
        least = scores == scores.min(axis=1, keepdims=True)
        seconds = np.where(least, self._means.seconds[:, places], np.inf)
        best = seconds == seconds.min(axis=1, keepdims=True)
        return float((best[:, 0] / best.sum(axis=1)).mean())

    def _score(self, seconds: Draws, costs: Draws) -> Draws:
        return self._cost_share * costs + self._time_share * seconds


def _ranked(candidates: Sequence[Candidate], need: Need) -> list[Candidate]:
    """Those that surely keep the limits, or else those that likely do, the best first."""
    if need.is_limited:
        surely = [one for one in candidates if (one.keeps_all or 0.0) >= need.confidence]
        likely = [
            one
            for one in candidates
            if (one.keeps_all or 0.0) >= LIKELY or (one.is_single and one.is_within)
        ]
        candidates = surely or likely
    return sorted(candidates, key=lambda one: (one.score, one.seconds.mean))


def over_epochs(runs: pl.DataFrame, epochs: int) -> pl.DataFrame:
    """The runs as if each had trained so many epochs, every epoch as long as its mean one.

    Set-up and warm-up stay as they were.
    """
    if not {"train_seconds", "seconds_per_epoch"} <= set(runs.columns):
        raise InputError(
            "these runs do not tell the time of an epoch, so other numbers of epochs cannot be "
            "answered for; leave --epochs out"
        )
    train = epochs * pl.col("seconds_per_epoch")
    measured = pl.col("train_seconds") / pl.col("seconds_per_epoch")
    changed = [train.alias("train_seconds")]
    changed.append((pl.col("wall_seconds") - pl.col("train_seconds") + train).alias("wall_seconds"))
    if (images := images_metric(runs)) is not None:
        changed.append((pl.col(images) / measured * epochs).alias(images))
    return runs.with_columns(changed)
