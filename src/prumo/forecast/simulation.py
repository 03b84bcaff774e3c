"""How long trainings will take, from what trainings of their kind took. Pure.

A training is taken apart: it starts (process, import, set-up, compilation: so much per framework
and per layer), rehearses, and trains (so much per step, per FLOP, per byte of activations and per
parameter and step).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from prumo.forecast.document import CONFIDENCE, Span
from prumo.forecast.learned_time import (
    Array,
    LearnedTime,
    Spread,
    learn,
    product_of_powers,
    sum_of_costs,
)
from prumo.study import Adaptive, Level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from prumo.forecast.observation import Observation, Subject, Work

MOST_REPLICATIONS = 10_000
LENGTH_SPREAD = 0.02
"""Per doubling beyond the longest measured run: in 24 quiet trainings on a CPU, the first four
steps took 2 % more than all 16 to 64."""
LEAST_START_SECONDS = 0.02
STATE_SPREAD = 0.08
"""Of the whole machine between two hours: the totals of five rounds of 24 trainings, one after the
other on a shared machine of two cores, differed so (standard deviation of their logarithms)."""
STATE_PER_PRESSURE = 0.5
"""Where processes waited for a core all the time, others may leave, and times halve, or stay."""
SEED = 20_240_601
MOST_DRAWS, LEAST_DRAWS, MOST_NUMBERS = 4_000, 400, 4_000_000


def simulate(subjects: Sequence[Subject], observations: Sequence[Observation]) -> Simulation:
    """Forecast every subject of whose kind there are observations."""
    random = np.random.default_rng(SEED)
    taught = {observation.kind for observation in observations}
    known = [subject for subject in subjects if subject.kind in taught]
    draws = max(LEAST_DRAWS, min(MOST_DRAWS, MOST_NUMBERS // max(1, len(known))))
    observed = {(observation.kind, observation.place) for observation in observations}
    row, table = (len(known),), (draws, len(known))
    times = Times(*map(np.zeros, (row, row, row, table, table, table)))
    for kind in dict.fromkeys(subject.kind for subject in known):
        own = [column for column, subject in enumerate(known) if subject.kind == kind]
        teachers = [observation for observation in observations if observation.kind == kind]
        tell = training_times if known[own[0]].work else program_times
        told = tell([known[column] for column in own], teachers, draws, random)
        for name, values in vars(told).items():
            getattr(times, name)[..., own] = values
    states = _states(known, observations, draws, random)
    times.wall_draws[:] *= states
    times.train_draws[:] *= states
    measured = tuple((subject.kind, subject.place) in observed for subject in known)
    return Simulation(**vars(times), subjects=tuple(known), measured=measured)


def span_of_draws(value: float, draws: Array) -> Span:
    """An expected value with the interval of its draws."""
    low, high = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    # Where a billing rule drops partial minutes, the expected amount can lie at an end.
    return Span(value=value, low=min(value, float(low)), high=max(value, float(high)))


def _states(
    subjects: Sequence[Subject],
    observations: Sequence[Observation],
    draws: int,
    random: np.random.Generator,
) -> Array:
    """How much slower or faster each machine may be than when it was measured."""
    machines = list(dict.fromkeys(subject.kind.machine for subject in subjects))
    pressures = [
        fmean(o.pressure for o in observations if o.kind.machine == machine) for machine in machines
    ]
    # The busier a machine was with other work, the less is known of how busy it will be.
    spreads = np.maximum(STATE_SPREAD, STATE_PER_PRESSURE * np.array(pressures))
    states = np.exp(spreads * random.standard_normal((draws, len(machines))))
    columns: Array = states[:, [machines.index(subject.kind.machine) for subject in subjects]]
    return columns


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


@dataclass(frozen=True)
class Simulation(Times):
    """Simulated studies of the scenarios that could be forecast."""

    subjects: tuple[Subject, ...]
    measured: tuple[bool, ...]
    """Whether runs of this very scenario, perhaps shorter ones, were among the measured."""


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


def program_times(
    subjects: Sequence[Subject],
    observations: Sequence[Observation],
    draws: int,
    random: np.random.Generator,
) -> Times:
    """Programs are forecast as a whole, from their levels."""
    rows, is_level = _level_sizes([*subjects, *observations])
    sizes, taught = rows[: len(subjects)], rows[len(subjects) :]
    seconds = np.array([observation.wall_seconds for observation in observations])
    trend = product_of_powers(taught, is_level, seconds)
    learned = learn(trend, taught, [observation.place for observation in observations], seconds)
    places = [subject.place for subject in subjects]
    replications, replication_draws = replications_of(subjects, learned.noise, draws, random)
    expected = learned.expected(sizes, places)
    run_draws = learned.draws(sizes, places, replications, draws, random)
    return Times(expected, expected, replications, run_draws, run_draws, replication_draws)


def _level_sizes(cases: Sequence[Subject | Observation]) -> tuple[Array, NDArray[np.bool_]]:
    """The levels of programs as sizes, a row per case, and which columns stand for a level.

    The columns are a constant, the logarithms of numbers, and 0 or 1 per level of a category.
    """
    powers, levels = [np.ones(len(cases))], []
    for name in dict.fromkeys(name for case in cases for name in case.levels):
        values = [case.levels[name] for case in cases]
        found = list(dict.fromkeys(values))
        if _is_size(found):
            powers.append(np.log(np.array(values, dtype=float)))
        elif len(found) > 1:
            levels += [np.array([float(value == level) for value in values]) for level in found]
    is_level = np.array([False] * len(powers) + [True] * len(levels))
    return np.column_stack([*powers, *levels]), is_level


def _is_size(levels: Sequence[Level]) -> bool:
    """Whether these are positive numbers, so that time may grow with a power of them."""
    return len(levels) > 1 and all(
        isinstance(level, int | float) and not isinstance(level, bool) and level > 0
        for level in levels
    )


def training_times(
    subjects: Sequence[Subject],
    observations: Sequence[Observation],
    draws: int,
    random: np.random.Generator,
) -> Times:
    """Forecast trainings of one kind from the measured ones of that kind."""
    works = [subject.work for subject in subjects if subject.work]
    training, start = _learned_training(observations)
    places = [subject.place for subject in subjects]
    replications, replication_draws = replications_of(subjects, training.noise, draws, random)
    sizes, start_sizes = _training_sizes(works), _start_sizes(works)
    rehearsal = np.array([work.rehearsed_steps / work.steps for work in works])
    trained = training.expected(sizes, places)
    longest = max(observation.work.steps for observation in observations if observation.work)
    doublings = np.log2([max(1.0, work.steps / longest) for work in works])
    longer = LENGTH_SPREAD * doublings * random.standard_normal((draws, 1))
    train_draws = training.draws(sizes, places, replications, draws, random) * np.exp(longer)
    starts = start.draws(start_sizes, places, replications, draws, random)
    return Times(
        wall_seconds=start.expected(start_sizes, places) + (1 + rehearsal) * trained,
        train_seconds=trained,
        replications=replications,
        wall_draws=starts + (1 + rehearsal) * train_draws,
        train_draws=train_draws,
        replication_draws=replication_draws,
    )


def _learned_training(observations: Sequence[Observation]) -> tuple[LearnedTime, LearnedTime]:
    """The training and the start of runs of one kind."""
    works = [observation.work for observation in observations if observation.work]
    places = [observation.place for observation in observations]
    trained = np.array([observation.train_seconds or 0.0 for observation in observations])
    before = np.array([o.wall_seconds for o in observations]) - trained
    rehearsal = np.array([work.rehearsed_steps / work.steps for work in works]) * trained
    warmup = np.array([observation.warmup_seconds for observation in observations])
    # Compilation is in the warm-up, beside steps that may have been quicker than those timed.
    started = np.maximum(before - np.minimum(rehearsal, warmup), LEAST_START_SECONDS)
    sizes, start_sizes = _training_sizes(works), _start_sizes(works)
    return (
        learn(sum_of_costs(sizes, trained), sizes, places, trained),
        learn(sum_of_costs(start_sizes, started), start_sizes, places, started),
    )


def _training_sizes(works: Sequence[Work]) -> Array:
    return np.array(
        [
            (
                work.steps,
                work.images * work.flops,
                work.images * work.activation_bytes,
                work.steps * work.parameters,
            )
            for work in works
        ],
        dtype=float,
    )


def _start_sizes(works: Sequence[Work]) -> Array:
    return np.array([(1.0, work.layers) for work in works])
