"""Which scenarios of a study to probe: few, and yet every framework and every extreme. Pure."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from prumo.analyse.forecast.observation import Kind, Subject
    from prumo.study import Level

PER_KIND = 4
"""Probes of each framework on each machine: enough to tell a cost per step from one per image."""
MOST = 12
WEIGHTS = (1, 100, 10_000)
"""Of a pair of levels, of one level, and of a kind that nothing was probed of."""


def chosen_for_probe(subjects: Sequence[Subject], most: int | None = None) -> list[Subject]:
    """The subjects to probe, the smallest work first.

    Each next one is that with the most that was not seen yet: kinds first, then levels (of numbers
    only the least and the most), then pairs of levels; of equals the largest, which most of the
    study's time will go into.
    """
    ends = _ends(subjects)
    kinds = {subject.kind for subject in subjects}
    limit = most if most is not None else max(len(kinds), min(MOST, PER_KIND * len(kinds)))
    candidates = sorted(subjects, key=size_of, reverse=True)
    seen: dict[Hashable, int] = {}
    chosen: list[Subject] = []
    while candidates and len(chosen) < limit:
        best = max(candidates, key=lambda subject: _novelty(subject, ends, seen))
        if not _novelty(best, ends, seen):
            break
        chosen.append(best)
        candidates.remove(best)
        seen |= _aspects(best, ends)
    return sorted(chosen, key=size_of)


def size_of(subject: Subject) -> float:
    """The size of one step, by which probes are ordered; 0 where it is not known."""
    return subject.work.flops * subject.work.images_per_step if subject.work else 0.0


def _novelty(subject: Subject, ends: dict[str, set[Level]], seen: dict[Hashable, int]) -> int:
    aspects = _aspects(subject, ends)
    return sum(weight for aspect, weight in aspects.items() if aspect not in seen)


def _aspects(subject: Subject, ends: dict[str, set[Level]]) -> dict[Hashable, int]:
    kind: Kind = subject.kind
    shown = [(name, level) for name, level in subject.levels.items() if level in ends[name]]
    pair, single, whole = WEIGHTS
    aspects: dict[Hashable, int] = {(kind, two): pair for two in combinations(shown, 2)}
    aspects |= {(kind, one): single for one in shown}
    aspects[kind,] = whole
    return aspects


def _ends(subjects: Sequence[Subject]) -> dict[str, set[Level]]:
    """The levels that a probe should show: the ends of a range of numbers, all of a category."""
    levels: dict[str, set[Level]] = {}
    for subject in subjects:
        for name, level in subject.levels.items():
            levels.setdefault(name, set()).add(level)
    return {name: _shown(found) for name, found in levels.items()}


def _shown(levels: set[Level]) -> set[Level]:
    numbers = [
        level for level in levels if isinstance(level, int | float) and not isinstance(level, bool)
    ]
    return {min(numbers), max(numbers)} if numbers and len(numbers) == len(levels) else levels
