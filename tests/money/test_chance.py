"""Chances from few runs: as wide as Student's intervals, and rarely wrong."""

from __future__ import annotations

import numpy as np
import pytest

from prumo.money.difference import Aspect, Difference, chance_below, plausible_means, plausible_runs
from prumo.report.cost_sentences import chance
from prumo.statistics.interval import mean_interval

TIMES = [10.0, 11.0, 12.0, 10.5, 13.0]


def test_plausible_means_fill_students_interval() -> None:
    drawn = plausible_means([TIMES], [[2 * time for time in TIMES]])
    interval = mean_interval(TIMES)
    low, high = np.quantile(drawn.seconds[:, 0], [0.025, 0.975])

    assert low == pytest.approx(interval.low, abs=0.05)
    assert high == pytest.approx(interval.high, abs=0.05)


def test_a_draw_that_takes_longer_also_costs_more() -> None:
    drawn = plausible_means([TIMES], [[2 * time for time in TIMES]])

    assert drawn.costs == pytest.approx(2 * drawn.seconds)


def test_the_next_run_is_less_certain_than_the_mean() -> None:
    costs = [[0.0] * len(TIMES)]
    mean, following = (
        np.std(drawn([TIMES], costs).seconds.clip(0, 25))
        for drawn in (plausible_means, plausible_runs)
    )

    assert following > 1.8 * mean


def test_many_thousand_runs_are_no_burden() -> None:
    times = np.random.default_rng(3).normal(100, 10, 50_000).tolist()
    drawn = plausible_means([times], [times]).seconds

    assert np.std(drawn) == pytest.approx(10 / np.sqrt(50_000), rel=0.05)


def test_equal_amounts_leave_no_doubt_and_a_tie_is_half_a_chance() -> None:
    drawn = plausible_means([TIMES, TIMES, TIMES], [[0.1] * 5, [0.1] * 5, [0.3] * 5])

    assert chance_below(drawn.costs[:, 0], drawn.costs[:, 1]) == 0.5
    assert chance_below(drawn.costs[:, 0], drawn.costs[:, 2]) == 1.0


def test_two_equal_scenarios_are_called_different_in_at_most_5_of_100_cases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("prumo.money.difference.DRAWS", 2000)
    random = np.random.default_rng(7)
    trials = 1000
    seconds = random.normal(100, 10, (2 * trials, 5)).tolist()
    drawn = plausible_means(seconds, seconds).seconds
    told = [
        Difference(
            Aspect.TIME, "A", "B", 1.0, 2.0, chance_below(drawn[:, place], drawn[:, place + 1])
        ).is_told
        for place in range(0, 2 * trials, 2)
    ]

    assert np.mean(told) <= 0.05


def test_the_next_run_is_within_its_limit_as_often_as_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("prumo.money.difference.DRAWS", 2000)
    random = np.random.default_rng(11)
    trials = 400
    runs = random.normal(100, 10, (trials, 6))
    drawn = plausible_runs(runs[:, :5].tolist(), runs[:, :5].tolist()).seconds
    limits = np.quantile(drawn, 0.9, axis=0)

    assert np.mean(runs[:, 5] <= limits) == pytest.approx(0.9, abs=0.04)


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (0.5, "50 %"),
        (0.974, "97 %"),
        (0.9951, "99.5 %"),
        (0.9999, "more than 99.9 %"),
        (0.0, "less than 0.1 %"),
        (0.004, "0.4 %"),
    ],
)
def test_a_chance_is_never_told_as_a_certainty(share: float, told: str) -> None:
    assert str(chance(share)) == told
