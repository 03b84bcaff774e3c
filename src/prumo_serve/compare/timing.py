"""How fast variants answer: rounds in which each has its turn, so that a busy minute hits all."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from prumo.statistics.interval import DEFAULT_CONFIDENCE, geometric_mean, mean_interval
from prumo_serve.compare.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack

    from prumo.progress import Progress
    from prumo.statistics.interval import Interval, Ratio
    from prumo_serve.compare.subject import Memory
    from prumo_serve.compare.variant import Variant

ROUNDS = 10
STARTS = 3
_TURN_SECONDS = 0.4
_FEWEST_ANSWERS = 5
_MOST_ANSWERS = 200
_WARMING_ANSWERS = 3


@dataclass(frozen=True)
class Pace:
    """How variants are measured."""

    rounds: int = ROUNDS
    starts: int = STARTS
    threads: int = 1
    """That a runtime computes one answer with."""
    callers: int = 1
    """That ask at once where images per second are measured."""


@dataclass(frozen=True)
class Timing:
    """What was measured of one variant."""

    start: Interval
    """Seconds from the start of a process to its first answer."""
    latency: Interval
    """Seconds for a single image: the mean over rounds of each round's median."""
    median: float
    """Of the seconds of all answers."""
    p95: float
    images_per_second: Interval
    """With all callers at once."""
    memory: Memory
    round_medians: tuple[float, ...]

    def speed_up(self, first: Timing, confidence: float = DEFAULT_CONFIDENCE) -> Ratio:
        """How many times as fast as another, from the rounds that both were measured in."""
        pairs = zip(first.round_medians, self.round_medians, strict=True)
        return geometric_mean([other / own for other, own in pairs], confidence)


def started_subjects(
    variants: Sequence[Variant], pace: Pace, subjects: ExitStack, progress: Progress
) -> tuple[list[Subject], list[list[float]]]:
    """A process for each variant, ready to answer, and how long each of several starts took."""
    seconds: list[list[float]] = [[] for _ in variants]
    alive: list[Subject] = []
    for start in range(pace.starts):
        is_last = start == pace.starts - 1
        for variant, taken in zip(variants, seconds, strict=True):
            progress.show("starting", f"{variant.name}, {start + 1} of {pace.starts}")
            subject = Subject(variant, pace.threads, pace.callers)
            taken.append(subject.start_seconds)
            if is_last:
                alive.append(subjects.enter_context(subject))
            else:
                subject.close()
    return alive, seconds


def timings(
    subjects: Sequence[Subject],
    starts: Sequence[Sequence[float]],
    pace: Pace,
    progress: Progress,
) -> list[Timing]:
    """Measure subjects in turns; who begins moves on from round to round."""
    turns = [_Turns(subject) for subject in subjects]
    for number in range(pace.rounds):
        progress.show("measuring", f"round {number + 1} of {pace.rounds}")
        for place in range(len(turns)):
            turns[(number + place) % len(turns)].take()
    return [turn.timing(seconds) for turn, seconds in zip(turns, starts, strict=True)]


class _Turns:
    """All turns of one subject."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        warm = median(subject.latencies(_WARMING_ANSWERS))
        self._answers = min(_MOST_ANSWERS, max(_FEWEST_ANSWERS, ceil(_TURN_SECONDS / warm)))
        self._rounds: list[list[float]] = []
        self._rates: list[float] = []

    def take(self) -> None:
        self._rounds.append(self._subject.latencies(self._answers))
        self._rates.append(self._subject.images_per_second(self._answers))

    def timing(self, start_seconds: Sequence[float]) -> Timing:
        medians = [median(seconds) for seconds in self._rounds]
        everything = np.concatenate(self._rounds)
        return Timing(
            start=mean_interval(start_seconds, is_amount=True),
            latency=mean_interval(medians, is_amount=True),
            median=float(np.median(everything)),
            p95=float(np.quantile(everything, 0.95)),
            images_per_second=mean_interval(self._rates, is_amount=True),
            memory=self._subject.memory(),
            round_medians=tuple(medians),
        )
