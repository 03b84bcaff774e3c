"""How long the runs of a study will take, from what other runs took, by simulation. Pure.

The costs of a scenario come from the measured runs of its kind: see `training_time` and
`program_time`, and `learned_time` for what is not known of them. Simulated studies then give the
interval of every scenario and of the total, in which errors that scenarios share do not cancel out.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from prumo.analyse.forecast.program_time import program_times
from prumo.analyse.forecast.times import Times, joined, nothing
from prumo.analyse.forecast.training_time import training_times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.analyse.forecast.observation import Observation, Subject
    from prumo.analyse.forecast.trend import Array

STATE_SPREAD = 0.08
"""Of the whole machine between two hours: the totals of five rounds of 24 trainings, one after the
other on a shared machine of two cores, differed so (standard deviation of their logarithms)."""
STATE_PER_PRESSURE = 0.5
"""Where processes waited for a core all the time, others may leave, and times halve, or stay."""
SEED = 20_240_601
MOST_DRAWS, LEAST_DRAWS, MOST_NUMBERS = 4_000, 400, 4_000_000


@dataclass(frozen=True)
class Simulation(Times):
    """Simulated studies of the scenarios that could be forecast."""

    subjects: tuple[Subject, ...]
    measured: tuple[bool, ...]
    """Whether runs of this very scenario, perhaps shorter ones, were among the measured."""


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
