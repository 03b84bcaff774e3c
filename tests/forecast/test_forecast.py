"""Forecasts: what a part of the runs tells of the others, on real and on made-up trainings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from prumo.forecast.observation import Kind, Observation, Subject, Work
from prumo.forecast.simulation import simulate
from prumo.study import Adaptive
from support.measured_trainings import RUNS, measured_trainings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from prumo.forecast.simulation import Simulation
    from support.measured_trainings import Measured

TRAININGS = measured_trainings()
QUANTILES = [0.025, 0.975]


def test_intervals_from_a_few_real_runs_cover_the_others() -> None:
    covered, totals = [], []
    for seed in range(40):
        learnt, kept = _split(TRAININGS, np.random.default_rng(seed))
        simulation = simulate([case.subject(len(runs)) for case, runs in kept], learnt)
        facts = np.array([np.mean([run.wall_seconds for run in runs]) for _, runs in kept])
        covered.append(_inside(simulation.wall_draws, facts).mean())
        counts = np.array([len(runs) for _, runs in kept])
        total = (simulation.wall_draws * counts).sum(axis=1)
        totals.append(_inside(total[:, None], np.array([(facts * counts).sum()])).item())

    assert np.mean(covered) >= 0.93
    assert np.mean(totals) >= 0.9


def test_a_forecast_from_a_few_real_runs_is_near_the_truth() -> None:
    truth = sum(run.wall_seconds for case in TRAININGS for run in case.runs)
    ratios = []
    for seed in range(20):
        learnt, _ = _split(TRAININGS, np.random.default_rng(seed))
        simulation = simulate([case.subject() for case in TRAININGS], learnt)
        ratios.append((simulation.wall_seconds * RUNS).sum() / truth)

    assert 0.9 < np.median(ratios) < 1.1
    assert 0.7 < min(ratios) < max(ratios) < 1.4


def test_more_runs_make_the_interval_narrower() -> None:
    subjects = [case.subject() for case in TRAININGS]
    few, _ = _split(TRAININGS, np.random.default_rng(1))
    every = [run for case in TRAININGS for run in case.runs]

    assert _relative_width(simulate(subjects, every)) < 0.6 * _relative_width(
        simulate(subjects, few)
    )


def test_intervals_cover_made_up_trainings_as_often_as_they_say() -> None:
    covered = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        seconds = _world(random)
        works = [_work(layers, batch) for layers in (4, 8, 30) for batch in (16, 64, 256)]
        places = np.exp(random.normal(0, 0.3, len(works)))
        runs = [
            _observed(work, number, seconds(work) * places[number], random)
            for number, work in enumerate(works)
        ]
        taught = [runs[place] for place in (0, 2, 6, 8)]
        subjects = [
            Subject(f"C{number}", Kind(), number, 1, {}, replace(work, steps=900, images=900 * 64))
            for number, work in enumerate(works)
        ]
        truth = [
            2.0 + seconds(subject.work) * places[number] * np.exp(random.normal(0, 0.15))
            for number, subject in enumerate(subjects)
            if subject.work
        ]
        covered.append(_inside(simulate(subjects, taught).wall_draws, np.array(truth)).mean())

    assert np.mean(covered) >= 0.93


def test_a_scenario_far_from_the_measured_ones_gets_a_wider_interval() -> None:
    case = TRAININGS[0]
    near = case.subject()
    far = replace(near, scenario="C2", place="far", work=replace(case.work, flops=1e12, layers=500))

    simulation = simulate([near, far], case.runs)
    low, high = np.quantile(simulation.wall_draws, QUANTILES, axis=0)

    assert high[1] / low[1] > 2 * high[0] / low[0]
    assert simulation.measured == (True, False)


def test_what_was_measured_on_a_busy_machine_is_known_worse() -> None:
    subjects = [case.subject() for case in TRAININGS]
    quiet = [run for case in TRAININGS for run in case.runs]
    busy = [replace(run, pressure=0.9) for run in quiet]

    assert _relative_width(simulate(subjects, busy)) > 2 * _relative_width(
        simulate(subjects, quiet)
    )


def test_a_kind_that_nothing_was_measured_of_is_not_forecast() -> None:
    pytorch = next(case for case in TRAININGS if case.kind.framework == "pytorch")
    other = next(case for case in TRAININGS if case.kind.framework == "tensorflow")

    simulation = simulate([pytorch.subject(), other.subject()], pytorch.runs)

    assert [subject.scenario for subject in simulation.subjects] == [pytorch.name]


def test_nothing_measured_means_nothing_forecast() -> None:
    assert simulate([TRAININGS[0].subject()], []).subjects == ()


def test_ten_times_the_epochs_take_about_ten_times_as_long() -> None:
    case = TRAININGS[3]
    long = replace(case.work, steps=10 * case.work.steps, images=10 * case.work.images)

    short, longer = simulate(
        [case.subject(), replace(case.subject(), work=long)], case.runs
    ).train_seconds

    assert longer == pytest.approx(10 * short)


def test_a_much_longer_run_is_known_worse() -> None:
    case = TRAININGS[3]
    long = replace(case.work, steps=10_000 * case.work.steps, images=10_000 * case.work.images)

    simulation = simulate([case.subject(), replace(case.subject(), work=long)], case.runs)
    low, high = np.quantile(simulation.train_draws, QUANTILES, axis=0)

    assert high[1] / low[1] > 1.2 * high[0] / low[0]


def test_a_program_is_forecast_from_its_levels() -> None:
    runs = [_program(size, mode) for size in (10, 1000) for mode in ("plain", "slow")]
    subject = Subject("C1", Kind(), (100, "slow"), 1, {"size": 100, "mode": "slow"})

    simulation = simulate([subject], runs)

    assert simulation.wall_seconds[0] == pytest.approx(3 * 0.1 * 100, rel=0.3)


def test_a_program_with_a_level_that_was_never_seen_is_hardly_known() -> None:
    runs = [_program(10, "plain"), _program(1000, "plain")]
    levels = [{"size": 100, "mode": mode} for mode in ("plain", "new")]

    simulation = simulate(
        [
            Subject(f"C{number}", Kind(), tuple(level.values()), 1, level)
            for number, level in enumerate(levels)
        ],
        runs,
    )
    low, high = np.quantile(simulation.wall_draws, QUANTILES, axis=0)

    assert high[1] / low[1] > 2 * high[0] / low[0]


def test_an_adaptive_study_has_more_runs_on_a_noisy_machine() -> None:
    goal = Adaptive(metric="train_seconds", half_width_percent=5, minimum=3, maximum=50)
    case = TRAININGS[0]
    steady = [replace(run, train_seconds=1.0, wall_seconds=4.0) for run in case.runs] * 8
    subject = replace(case.subject(), replications=goal)

    quiet = simulate([subject], steady).replications[0]
    noisy = simulate([subject], case.runs).replications[0]

    assert 3 <= quiet < noisy <= 50


def _split(
    cases: Sequence[Measured], random: np.random.Generator
) -> tuple[list[Observation], list[tuple[Measured, list[Observation]]]]:
    """One run of three scenarios of each framework, and one more of the first, as in a probe."""
    taught: list[Observation] = []
    kept = []
    chosen: dict[str, int] = {}
    for place in random.permutation(len(cases)):
        case = cases[place]
        number = chosen.get(case.kind.framework, 0)
        chosen[case.kind.framework] = number + 1
        count = {0: 2, 1: 1, 2: 1}.get(number, 0)
        order = random.permutation(len(case.runs))
        taught += [case.runs[index] for index in order[:count]]
        kept.append((case, [case.runs[index] for index in order[count:]]))
    return taught, kept


def _inside(draws: NDArray[np.float64], facts: NDArray[np.float64]) -> NDArray[np.bool_]:
    low, high = np.quantile(draws, QUANTILES, axis=0)
    inside: NDArray[np.bool_] = (low <= facts) & (facts <= high)
    return inside


def _relative_width(simulation: Simulation) -> float:
    total = (simulation.wall_draws * simulation.replications).sum(axis=1)
    low, high = np.quantile(total, QUANTILES)
    return float((high - low) / (simulation.wall_seconds * simulation.replications).sum())


class _world:  # noqa: N801 (called like a function)
    """Costs of a machine that nobody knows."""

    def __init__(self, random: np.random.Generator) -> None:
        self._step, self._flop, self._byte = random.lognormal([-6, -24, -22], 1.0)

    def __call__(self, work: Work) -> float:
        each = self._flop * work.flops + self._byte * work.activation_bytes
        return float(self._step * work.steps + each * work.images)


def _work(layers: int, batch_size: int) -> Work:
    return Work(
        flops=2e6 * layers**2,
        activation_bytes=1e5 * layers,
        parameters=10_000 * layers,
        layers=layers,
        images=8 * batch_size,
        steps=8,
    )


def _observed(work: Work, place: int, seconds: float, random: np.random.Generator) -> Observation:
    trained = seconds * float(np.exp(random.normal(0, 0.15)))
    return Observation(Kind(), place, 2.0 + trained, {}, work, trained)


def _program(size: int, mode: str) -> Observation:
    seconds = 0.1 * size * (3 if mode == "slow" else 1)
    return Observation(Kind(), (size, mode), seconds, {"size": size, "mode": mode})
