"""Photographs for training, validation and test, or in folds: the same grades in each of them.

Groups of photographs (of one patient, or duplicates) go to one side whole. The rarest grade comes
first: each of its groups, the largest first, goes where most photographs of that grade are still
wanted, after Sechidis, Tsoumakas and Vlahavas (2011), "On the stratification of multi-label data".
Where every group has one photograph, each subset is within one of its share of every grade.

Photographs that cannot be judged are parted too, so that a test has its share of them: where others
of their patient are, or else by lot.
"""

from __future__ import annotations

import hashlib
from bisect import bisect
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from prumo.errors import DataError, InputError
from prumo_retina.grade import GRADE_COUNT, Grade

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prumo_retina.dataset.manifest import Entry

Group = tuple["Entry", ...]

TRAIN, VALIDATION, TEST = "train", "validation", "test"
_LEAST_FOLDS, _LEAST_GRADES = 2, 2

NO_PHOTOGRAPH = "no photograph"
NO_GRADE = "no grade"
UNGRADABLE = "ungradable"
CONFLICT = "duplicates with other grades"


def kept_together(entries: Iterable[Entry]) -> tuple[Group, ...]:
    """Groups of photographs that share a patient or show the same; most have one member."""
    return _groups(entries, by_patient=True)


def duplicate_groups(entries: Iterable[Entry]) -> tuple[Group, ...]:
    """Groups of photographs that show the same, each of two or more."""
    return tuple(group for group in _groups(entries, by_patient=False) if len(group) > 1)


def _groups(entries: Iterable[Entry], *, by_patient: bool) -> tuple[Group, ...]:
    """Whoever shares a tie, directly or through others, by name within each group and over all."""
    leader: dict[tuple[str, str], tuple[str, str]] = {}

    def found(tie: tuple[str, str]) -> tuple[str, str]:
        while leader.setdefault(tie, tie) != tie:
            leader[tie] = leader[leader[tie]]
            tie = leader[tie]
        return tie

    ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        own = found(("image", entry.name))
        if entry.duplicate_of:
            leader[found(("image", entry.duplicate_of))] = own
        if by_patient and entry.patient:
            leader[found(("patient", entry.patient))] = own
    members: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in ordered:
        members[found(("image", entry.name))].append(entry)
    return tuple(map(tuple, members.values()))


@dataclass(frozen=True)
class Shares:
    """How much of the photographs goes where."""

    test: float = 0.3
    validation: float = 0.2
    """Of those that are not for the test."""
    folds: int = 0
    """So many subsets of equal size for cross-validation, instead of the three."""

    def __post_init__(self) -> None:
        if not 0 <= self.test < 1:
            raise InputError(f"the test's share is from 0 to less than 1, not {self.test:g}")
        if not 0 < self.validation < 1:
            raise InputError(f"validation's share is between 0 and 1, not {self.validation:g}")
        if self.folds and self.folds < _LEAST_FOLDS:
            raise InputError(f"cross-validation needs 2 or more folds, not {self.folds}")

    def of_subsets(self) -> dict[str, float]:
        """Subset → its share of all photographs, which sum to 1."""
        if self.folds:
            return {f"fold-{number}": 1 / self.folds for number in range(1, self.folds + 1)}
        rest = 1 - self.test
        shares = {TRAIN: rest * (1 - self.validation), VALIDATION: rest * self.validation}
        return shares | ({TEST: self.test} if self.test else {})


@dataclass(frozen=True)
class Split:
    """Every photograph in one subset, and what should be known about that."""

    subsets: Mapping[str, tuple[Entry, ...]]
    ungradable: Mapping[str, tuple[Entry, ...]]
    """With a grade, for an evaluation; nothing can be learnt from them."""
    warnings: tuple[str, ...] = ()


def split(selection: Selection, shares: Shares, seed: int = 1) -> Split:
    """Part the chosen photographs; the same seed gives the same split in any order of rows."""
    together = kept_together([*selection.chosen, *(left.entry for left in selection.left_out)])
    chosen = set(selection.chosen)
    # What is not chosen may still tie two of the chosen together.
    members = (tuple(entry for entry in group if entry in chosen) for group in together)
    groups = [group for group in members if group]
    if not groups:
        raise DataError("no photograph is gradable and has a grade: there is nothing to split")
    wanted = shares.of_subsets()
    if len(groups) < len(wanted):
        raise DataError(
            f"{len(wanted)} subsets need as many photographs or patients, not {len(groups)}"
        )
    subsets = _assigned(groups, wanted, seed)
    _require_trainable(subsets)
    ungradable = _followed(selection.ungradable, together, subsets, wanted, seed)
    return Split(subsets, ungradable, tuple(_warnings(subsets)))


def _followed(
    ungradable: Sequence[Entry],
    together: Sequence[Group],
    subsets: Mapping[str, tuple[Entry, ...]],
    shares: Mapping[str, float],
    seed: int,
) -> dict[str, tuple[Entry, ...]]:
    """Where the chosen of the same group are; a group without any goes by lot.

    Few of a grade would all be wanted most by the largest subset, and none by the test.
    """
    names, ends = list(shares), list(accumulate(shares.values()))
    homes = {entry: subset for subset, members in subsets.items() for entry in members}
    followers = set(ungradable)
    found: dict[str, list[Entry]] = {subset: [] for subset in subsets}
    for group in together:
        known = [homes[entry] for entry in group if entry in homes]
        lot = int.from_bytes(_lot(group, seed)) / 2**256
        # Each subset is as probable as its share is large; rounded, they may sum to less than 1.
        subset = known[0] if known else names[min(bisect(ends, lot), len(names) - 1)]
        found[subset] += [entry for entry in group if entry in followers]
    return {subset: tuple(members) for subset, members in found.items()}


def _assigned(
    groups: Sequence[Group], shares: Mapping[str, float], seed: int
) -> dict[str, tuple[Entry, ...]]:
    counts = dict(enumerate(map(_grades, groups)))
    totals = sum(counts.values(), start=Counter[int]())
    wanted = {
        subset: {grade: share * totals[grade] for grade in totals}
        for subset, share in shares.items()
    }
    lots = [_lot(group, seed) for group in groups]
    subsets: dict[str, list[Entry]] = {subset: [] for subset in shares}
    for grade in sorted(totals, key=lambda grade: (totals[grade], grade)):
        having = [place for place in counts if counts[place][grade]]
        having.sort(key=lambda place: (-counts[place][grade], lots[place]))
        for place in having:
            # Where most of a grade are wanted, and among equals where most of all grades are.
            subset = max(wanted, key=lambda name: (wanted[name][grade], sum(wanted[name].values())))
            for other, count in counts.pop(place).items():
                wanted[subset][other] -= count
            subsets[subset] += groups[place]
    return {
        subset: tuple(sorted(members, key=lambda entry: entry.image))
        for subset, members in subsets.items()
    }


def _grades(entries: Iterable[Entry]) -> Counter[int]:
    return Counter(int(entry.grade) for entry in entries if entry.grade is not None)


def _lot(group: Group, seed: int) -> bytes:
    """A group's place in a random order that depends on nothing but its name and the seed."""
    return hashlib.sha256(f"{seed}:{group[0].name}".encode()).digest()


def _require_trainable(subsets: Mapping[str, tuple[Entry, ...]]) -> None:
    for subset, members in subsets.items():
        if not members:
            raise DataError(
                f"nothing is left for {subset}: there are too few photographs or patients; "
                "give it a larger share, or ask for fewer subsets"
            )
    learnt = [entry for subset, members in subsets.items() if subset != TEST for entry in members]
    if len(_grades(subsets.get(TRAIN, learnt))) < _LEAST_GRADES:
        raise DataError("the photographs for training all have one grade: nothing can be learnt")


def _warnings(subsets: Mapping[str, tuple[Entry, ...]]) -> Iterable[str]:
    everywhere = _grades(entry for members in subsets.values() for entry in members)
    for grade in map(Grade, range(GRADE_COUNT)):
        if not everywhere[grade]:
            yield f"no photograph has grade {grade:d} ({grade.title})"
    for subset, members in subsets.items():
        found = _grades(members)
        for absent in sorted(everywhere.keys() - found.keys()):
            yield f"{subset} has none of the {everywhere[absent]} photographs of grade {absent}"
    if len({Grade(grade).is_referable for grade in everywhere}) == 1:
        yield "all photographs would be decided alike, so no model for a referral can be trained"


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
        if not entry.output:
            left_out.append(LeftOut(entry, NO_PHOTOGRAPH, entry.reason))
        elif not entry.verdict.is_gradable:
            left_out.append(LeftOut(entry, UNGRADABLE, entry.verdict.value))
        elif entry.grade is None:
            left_out.append(LeftOut(entry, NO_GRADE, entry.reason))
        else:
            chosen.append(entry)
    conflicts: dict[str, LeftOut] = {}
    for group in duplicate_groups(chosen):
        # Nobody can tell which of the grades is right, so none of the duplicates is used.
        if len({entry.grade for entry in group}) > 1:
            graded = ", ".join(f"{entry.input}: {entry.grade:d}" for entry in group)
            conflicts |= {entry.image: LeftOut(entry, CONFLICT, graded) for entry in group}
    left_out += [conflicts[entry.image] for entry in chosen if entry.image in conflicts]
    return Selection(
        tuple(entry for entry in chosen if entry.image not in conflicts), tuple(left_out)
    )
