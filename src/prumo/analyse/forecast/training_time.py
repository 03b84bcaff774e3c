"""How long trainings will take, from what trainings of their kind took. Pure.

A training is taken apart: it starts (process, import, set-up, compilation: so much per framework
and per layer), rehearses, and trains (so much per step, per FLOP, per byte of activations and per
parameter and step).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prumo.analyse.forecast.learned_time import learn
from prumo.analyse.forecast.replication_count import replications_of
from prumo.analyse.forecast.times import Times
from prumo.analyse.forecast.trend import sum_of_costs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.analyse.forecast.learned_time import LearnedTime
    from prumo.analyse.forecast.observation import Observation, Subject
    from prumo.analyse.forecast.trend import Array
    from prumo.analyse.forecast.work import Work

LENGTH_SPREAD = 0.02
"""Per doubling beyond the longest measured run: in 24 quiet trainings on a CPU, the first four
steps took 2 % more than all 16 to 64."""
LEAST_START_SECONDS = 0.02


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
