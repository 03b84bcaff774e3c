"""Which prepared photographs a model may learn from, and why the others may not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo.retina.records.group import duplicate_groups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prumo.retina.dataset.manifest import Entry

NO_PHOTOGRAPH = "no photograph"
NO_GRADE = "no grade"
UNGRADABLE = "ungradable"
CONFLICT = "duplicates with other grades"


@dataclass(frozen=True)
class LeftOut:
    """A row of the manifest that does not go into the records."""

    entry: Entry
    reason: str
    """One of few, so that they can be counted."""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.entry.input}: {self.reason}" + (self.detail and f" ({self.detail})")


@dataclass(frozen=True)
class Selection:
    """Every row of a manifest, on one of two sides."""

    chosen: tuple[Entry, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def reasons(self) -> dict[str, int]:
        """Why rows were left out, with how many, the most frequent first."""
        return dict(Counter(left.reason for left in self.left_out).most_common())

    @property
    def ungradable(self) -> tuple[Entry, ...]:
        """Those left out that have a grade: a model refers them, which may be right or wrong.

        One without a hash is a label for which there is no file.
        """
        return tuple(
            left.entry
            for left in self.left_out
            if left.entry.grade is not None
            and left.entry.sha256
            and not left.entry.verdict.is_gradable
        )


def select(entries: Iterable[Entry]) -> Selection:
    """Keep gradable photographs with a grade, unless a duplicate has been graded differently."""
    chosen: list[Entry] = []
    left_out: list[LeftOut] = []
    for entry in entries:
        reason = _reason(entry)
        if reason is None:
            chosen.append(entry)
        else:
            left_out.append(reason)
    conflicts = _conflicts(chosen)
    left_out += [conflicts[entry.image] for entry in chosen if entry.image in conflicts]
    return Selection(
        tuple(entry for entry in chosen if entry.image not in conflicts), tuple(left_out)
    )


def _reason(entry: Entry) -> LeftOut | None:
    if not entry.output:
        return LeftOut(entry, NO_PHOTOGRAPH, entry.reason)
    if not entry.verdict.is_gradable:
        return LeftOut(entry, UNGRADABLE, entry.verdict.value)
    if entry.grade is None:
        return LeftOut(entry, NO_GRADE, entry.reason)
    return None


def _conflicts(entries: Iterable[Entry]) -> dict[str, LeftOut]:
    """Nobody can tell which of the grades is right, so none of the duplicates is used."""
    found: dict[str, LeftOut] = {}
    for group in duplicate_groups(entries):
        if len({entry.grade for entry in group}) > 1:
            graded = ", ".join(f"{entry.input}: {entry.grade:d}" for entry in group)
            found |= {entry.image: LeftOut(entry, CONFLICT, graded) for entry in group}
    return found
