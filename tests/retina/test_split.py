"""Splitting photographs: nobody on two sides, every grade on each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prumo.errors import DataError, InputError
from prumo_retina.fundus.preparation import Verdict
from prumo_retina.records.split import (
    CONFLICT,
    NO_GRADE,
    NO_PHOTOGRAPH,
    UNGRADABLE,
    Shares,
    kept_together,
    select,
    split,
)
from support.prepared_photographs import entry, graded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prumo_retina.dataset.manifest import Entry
    from prumo_retina.records.split import Split


def parted(entries: Sequence[Entry], shares: Shares | None = None, seed: int = 1) -> Split:
    return split(select(entries), shares or Shares(), seed)


def subset_of(found: Split) -> dict[str, str]:
    return {entry.image: name for name, members in found.subsets.items() for entry in members}


def grades(found: Split, subset: str) -> Counter[int | None]:
    return Counter(entry.grade for entry in found.subsets[subset])


people = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from(["", "", *"ABCDEFGHIJKL"])), min_size=40
)


class TestEveryPhotograph:
    @settings(max_examples=40, deadline=None)
    @given(rows=people, seed=st.integers(0, 5), folds=st.sampled_from([0, 3]))
    def test_is_in_one_subset_with_all_others_of_its_patient(
        self, rows: list[tuple[int, str]], seed: int, folds: int
    ) -> None:
        entries = [
            entry(number, grade, patient=patient) for number, (grade, patient) in enumerate(rows)
        ]
        try:
            found = parted(entries, Shares(folds=folds), seed)
        except DataError:  # a single grade, or too few patients: told, and tested below
            return

        subset = subset_of(found)
        assert sorted(subset) == sorted(entry.image for entry in entries)
        assert sum(map(len, found.subsets.values())) == len(entries)
        sides = {(entry.patient, subset[entry.image]) for entry in entries if entry.patient}
        assert len(sides) == len({patient for patient, _ in sides})

    @settings(max_examples=40, deadline=None)
    @given(counts=st.lists(st.integers(8, 60), min_size=5, max_size=5), seed=st.integers(0, 9))
    def test_is_one_of_its_grades_share_within_one(self, counts: list[int], seed: int) -> None:
        found = parted(graded(*counts), seed=seed)

        for subset, share in {"test": 0.3, "validation": 0.14, "train": 0.56}.items():
            for grade, count in enumerate(counts):
                assert abs(grades(found, subset)[grade] - share * count) < 1

    def test_of_a_duplicate_stays_with_the_first_over_any_number_of_links(self) -> None:
        chain = [entry(n, 1, duplicate_of=f"eye-{n - 1:04d}" if n else "") for n in range(6)]
        tied = [entry(100, 2, patient="P0001"), entry(101, 3, patient="P0001")]
        others = [entry(number, number % 5) for number in range(200, 260)]

        subset = subset_of(parted([*chain, *tied, *others]))

        assert len({subset[found.image] for found in chain}) == 1
        assert len({subset[found.image] for found in tied}) == 1

    def test_that_cannot_be_judged_goes_with_its_patient_or_by_lot(self) -> None:
        good = [entry(n, n % 5, patient=f"P{n % 80}") for n in range(160)]
        bad = {"verdict": Verdict.BLURRED, "sha256": "f"}
        tied = [entry(n, 1, patient=f"P{n % 80}", **bad) for n in range(200, 240)]
        alone = [entry(n, 3, output="", input=f"{n}.dcm", **bad) for n in range(300, 700)]

        found = parted([*good, *tied, *alone])

        home = {entry.patient: subset_of(found)[entry.image] for entry in good}
        placed = {e.name: subset for subset, part in found.ungradable.items() for e in part}
        assert len(placed) == 440
        assert all(placed[e.name] == home[e.patient] for e in tied)
        drawn = Counter(placed[e.name] for e in alone)
        for subset, share in {"test": 0.3, "validation": 0.14, "train": 0.56}.items():
            assert abs(drawn[subset] / 400 - share) < 0.08
        assert found.subsets == parted(good).subsets

    def test_that_is_left_out_still_ties_others_together(self) -> None:
        same = entry(0, 1, duplicate_of="eye-0001")
        blurred = entry(1, 1, verdict=Verdict.BLURRED, patient="P0001")
        of_that_patient = entry(2, 2, patient="P0001")
        subset = subset_of(parted([same, blurred, of_that_patient, *graded_from(10, 40)]))

        assert subset[same.image] == subset[of_that_patient.image]
        assert blurred.image not in subset

    def test_is_not_taken_for_a_lost_one_whose_name_is_that_of_its_image(self) -> None:
        lost = entry(0, 2, input="eye-0003", output="", verdict=Verdict.UNREADABLE, sha256="f")

        found = parted([*graded(10, 10, 10, 10, 10), lost])

        assert len(subset_of(found)) == sum(map(len, found.subsets.values())) == 50
        assert [*map(list, found.ungradable.values())].count([lost]) == 1


class TestShares:
    def test_are_kept_as_well_as_patients_allow(self) -> None:
        entries = [
            entry(number, (number // 2) % 5, patient=f"P{number // 2:04d}") for number in range(400)
        ]

        found = parted(entries)

        for grade in range(5):
            assert grades(found, "test")[grade] == pytest.approx(24, abs=2)
            assert grades(found, "validation")[grade] == pytest.approx(11.2, abs=2)

    def test_of_folds_are_equal(self) -> None:
        found = parted(graded(100, 50, 25, 10, 5), Shares(folds=5))

        assert list(found.subsets) == [f"fold-{number}" for number in range(1, 6)]
        for subset in found.subsets:
            assert [grades(found, subset)[grade] for grade in range(5)] == [20, 10, 5, 2, 1]

    def test_of_no_test_leave_everything_to_learn_from(self) -> None:
        assert set(parted(graded(20, 20), Shares(test=0)).subsets) == {"train", "validation"}

    @pytest.mark.parametrize(
        ("shares", "reason"),
        [
            (lambda: Shares(test=1.0), "less than 1, not 1"),
            (lambda: Shares(test=-0.1), "from 0"),
            (lambda: Shares(test=float("nan")), "not nan"),
            (lambda: Shares(validation=0.0), "between 0 and 1, not 0"),
            (lambda: Shares(folds=1), "2 or more folds, not 1"),
            (lambda: Shares(folds=-3), "2 or more folds, not -3"),
        ],
    )
    def test_that_cannot_be_are_refused(self, shares: Callable[[], Shares], reason: str) -> None:
        with pytest.raises(InputError, match=reason):
            shares()


class TestTheSplit:
    def test_depends_on_the_seed_and_not_on_the_order_of_rows(self) -> None:
        entries = graded(30, 20, 10, 10, 10)

        first = subset_of(parted(entries, seed=1))

        assert subset_of(parted(entries[::-1], seed=1)) == first
        assert subset_of(parted(entries, seed=2)) != first

    def test_says_which_grades_are_missing_where_and_goes_on(self) -> None:
        found = parted(graded(30, 0, 30, 0, 2))

        assert found.warnings == (
            "no photograph has grade 1 (mild non-proliferative retinopathy)",
            "no photograph has grade 3 (severe non-proliferative retinopathy)",
            "validation has none of the 2 photographs of grade 4",
        )

    def test_says_when_nobody_would_be_referred(self) -> None:
        assert "no model for a referral can be trained" in parted(graded(30, 30)).warnings[-1]

    @pytest.mark.parametrize(
        ("entries", "reason"),
        [
            ([], "nothing to split"),
            (graded(50), "one grade: nothing can be learnt"),
            (graded(1, 1), "3 subsets need as many photographs or patients, not 2"),
            (graded(2, 2), "nothing is left for validation"),
        ],
    )
    def test_of_what_cannot_be_learnt_from_is_an_error(
        self, entries: list[Entry], reason: str
    ) -> None:
        with pytest.raises(DataError, match=reason):
            parted(entries)

    def test_of_one_patient_is_an_error(self) -> None:
        with pytest.raises(DataError, match="not 1"):
            parted([entry(number, number % 5, patient="P0001") for number in range(50)])


def test_what_is_left_out_has_a_reason() -> None:
    lost = entry(1, 2, output="", verdict=Verdict.UNREADABLE, reason="is truncated")
    dark = entry(2, 2, verdict=Verdict.TOO_DARK)
    unlabelled = entry(3, None)
    first, other, same = entry(4, 1), entry(5, 2, duplicate_of="eye-0004"), entry(6, 1)
    agreed = entry(7, 1, duplicate_of="eye-0006")

    found = select([lost, dark, unlabelled, first, other, same, agreed])

    assert found.chosen == (same, agreed)
    assert [str(left) for left in found.left_out] == [
        "eye-0001.tif: no photograph (is truncated)",
        "eye-0002.tif: ungradable (too_dark)",
        "eye-0003.tif: no grade",
        "eye-0004.tif: duplicates with other grades (eye-0004.tif: 1, eye-0005.tif: 2)",
        "eye-0005.tif: duplicates with other grades (eye-0004.tif: 1, eye-0005.tif: 2)",
    ]
    assert found.reasons == {CONFLICT: 2, NO_PHOTOGRAPH: 1, UNGRADABLE: 1, NO_GRADE: 1}


def test_photographs_without_ties_are_groups_of_their_own() -> None:
    assert [len(group) for group in kept_together(graded(3, 2))] == [1] * 5


def graded_from(first: int, count: int) -> list[Entry]:
    return [entry(number, number % 5) for number in range(first, first + count)]
