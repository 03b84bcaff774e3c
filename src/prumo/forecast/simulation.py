"""How long trainings will take, from what trainings of their kind took. Pure.

A training is taken apart: it starts (process, import, set-up, compilation: so much per framework
and per layer), rehearses, and trains (so much per step, per FLOP, per byte of activations and per
parameter and step).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from prumo.forecast.learned_time import learn, product_of_powers, sum_of_costs
from prumo.study import Adaptive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.forecast.learned_time import Array, LearnedTime, Spread
    from prumo.forecast.observation import Observation, Subject, Work
    from prumo.study import Level

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
    columns: list[int] = []
    parts = [nothing(draws)]
    for kind in dict.fromkeys(subject.kind for subject in known):
        own = [column for column, subject in enumerate(known) if subject.kind == kind]
        teachers = [observation for observation in observations if observation.kind == kind]
        tell = training_times if known[own[0]].work else program_times
        parts.append(tell([known[column] for column in own], teachers, draws, random))
        columns += own
    times = joined(parts, columns)
    states = _states(known, observations, draws, random)
    observed = {(observation.kind, observation.place) for observation in observations}
    return Simulation(
        wall_seconds=times.wall_seconds,
        train_seconds=times.train_seconds,
        replications=times.replications,
        wall_draws=times.wall_draws * states,
        train_draws=times.train_draws * states,
        replication_draws=times.replication_draws,
        subjects=tuple(known),
        measured=tuple((subject.kind, subject.place) in observed for subject in known),
    )


def _states(
    subjects: Sequence[Subject],
    observations: Sequence[Observation],
    draws: int,
    random: np.random.Generator,
) -> Array:
    """How much slower or faster each machine may be than when it was measured."""
    machines = list(dict.fromkeys(subject.kind.machine for subject in subjects))
    spreads = [_state_spread(machine, observations) for machine in machines]
    states = np.exp(np.array(spreads) * random.standard_normal((draws, len(machines))))
    columns: Array = states[:, [machines.index(subject.kind.machine) for subject in subjects]]
    return columns


def _state_spread(machine: str, observations: Sequence[Observation]) -> float:
    """The busier a machine was with other work, the less is known of how busy it will be."""
    pressure = fmean(o.pressure for o in observations if o.kind.machine == machine)
    return max(STATE_SPREAD, STATE_PER_PRESSURE * pressure)


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
    columns = _level_columns([*subjects, *observations])
    seconds = np.array([observation.wall_seconds for observation in observations])
    taught = columns.sizes([observation.levels for observation in observations])
    learned = learn(
        product_of_powers(taught, columns.is_level, seconds),
        taught,
        [observation.place for observation in observations],
        seconds,
    )
    sizes = columns.sizes([subject.levels for subject in subjects])
    places = [subject.place for subject in subjects]
    replications, replication_draws = replications_of(subjects, learned.noise, draws, random)
    expected = learned.expected(sizes, places)
    run_draws = learned.draws(sizes, places, replications, draws, random)
    return Times(expected, expected, replications, run_draws, run_draws, replication_draws)


@dataclass(frozen=True)
class _LevelColumns:
    """How the levels of a program become sizes: a constant, logarithms, and 0 or 1 per level."""

    powers: tuple[str, ...]
    levels: tuple[tuple[str, Level], ...]

    @property
    def is_level(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.array([False] * (1 + len(self.powers)) + [True] * len(self.levels))

    def sizes(self, cases: Sequence[Mapping[str, Level]]) -> Array:
        return np.array(
            [
                [
                    1.0,
                    *(np.log(float(case[name])) for name in self.powers),
                    *(float(case[name] == level) for name, level in self.levels),
                ]
                for case in cases
            ]
        )


def _level_columns(cases: Sequence[Subject | Observation]) -> _LevelColumns:
    names = dict.fromkeys(name for case in cases for name in case.levels)
    found = {name: list(dict.fromkeys(case.levels[name] for case in cases)) for name in names}
    powers = tuple(name for name, levels in found.items() if _is_size(levels))
    return _LevelColumns(
        powers,
        tuple(
            (name, level)
            for name, levels in found.items()
            if name not in powers and len(levels) > 1
            for level in levels
        ),
    )


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
    longer = _beyond(works, observations) * random.standard_normal((draws, 1))
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


def _beyond(works: Sequence[Work], observations: Sequence[Observation]) -> Array:
    """How little is known of runs that are longer than all measured ones."""
    longest = max(observation.work.steps for observation in observations if observation.work)
    doublings = np.log2([max(1.0, work.steps / longest) for work in works])
    spread: Array = LENGTH_SPREAD * doublings
    return spread


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
