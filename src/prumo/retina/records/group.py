"""Photographs that must not be on two sides of a split: of one patient, or of one another."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from prumo.retina.dataset.manifest import Entry

Group = tuple["Entry", ...]


def kept_together(entries: Iterable[Entry]) -> tuple[Group, ...]:
    """Groups of photographs that share a patient or show the same; most have one member."""
    return _groups(entries, _ties)


def duplicate_groups(entries: Iterable[Entry]) -> tuple[Group, ...]:
    """Groups of photographs that show the same, each of two or more."""
    return tuple(group for group in _groups(entries, _duplicate_ties) if len(group) > 1)


def _ties(entry: Entry) -> Iterator[Hashable]:
    yield from _duplicate_ties(entry)
    if entry.patient:
        yield "patient", entry.patient


def _duplicate_ties(entry: Entry) -> Iterator[Hashable]:
    yield "image", entry.name
    if entry.duplicate_of:
        yield "image", entry.duplicate_of


def _groups(
    entries: Iterable[Entry], ties: Callable[[Entry], Iterator[Hashable]]
) -> tuple[Group, ...]:
    """Whoever shares a tie, directly or through others, by name within each group and over all."""
    leader: dict[Hashable, Hashable] = {}

    def found(tie: Hashable) -> Hashable:
        while leader.setdefault(tie, tie) != tie:
            leader[tie] = leader[leader[tie]]
            tie = leader[tie]
        return tie

    ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        first, *others = map(found, ties(entry))
        for other in others:
            leader[other] = first
    members: dict[Hashable, list[Entry]] = defaultdict(list)
    for entry in ordered:
        members[found(("image", entry.name))].append(entry)
    return tuple(map(tuple, members.values()))
