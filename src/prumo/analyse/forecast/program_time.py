"""How long runs of a program will take, from what others with other levels took. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from prumo.analyse.forecast.learned_time import learn
from prumo.analyse.forecast.replication_count import replications_of
from prumo.analyse.forecast.times import Times
from prumo.analyse.forecast.trend import product_of_powers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prumo.analyse.forecast.observation import Observation, Subject
    from prumo.analyse.forecast.trend import Array
    from prumo.study import Level


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
