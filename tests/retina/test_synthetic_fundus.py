"""The drawn photographs that tests and benchmarks rely on."""

from __future__ import annotations

import csv
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from support.fundus_factory import fundus, write_photographs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("size", [(428, 284), (300, 300), (301, 403)])
@pytest.mark.parametrize("cut_off", [0.0, 0.25])
def test_the_fundus_is_where_it_is_said_to_be(size: tuple[int, int], cut_off: float) -> None:
    drawn = fundus(*size, seed=3, cut_off=cut_off)
    rows, columns = np.indices(drawn.pixels.shape[:2])
    distance = np.hypot(columns - drawn.circle.x, rows - drawn.circle.y)

    assert drawn.pixels.shape == (size[1], size[0], 3)
    assert drawn.pixels[distance > drawn.circle.radius + 2].max() < 20
    assert drawn.pixels[..., 0][distance < drawn.circle.radius - 2].min() > 40


def test_the_same_seed_draws_the_same_eye_and_another_seed_another() -> None:
    first, again, other = (fundus(200, 200, seed=seed).pixels for seed in (5, 5, 6))

    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_higher_grade_has_more_lesions() -> None:
    def lesions(grade: int) -> int:
        """Pixels that are redder than vessels are."""
        pixels = np.stack([fundus(200, 200, grade=grade, seed=seed).pixels for seed in range(8)])
        red, green = pixels[..., 0].astype(int), pixels[..., 1].astype(int)
        return int(((red > 4 * green) & (red > 60)).sum())

    counts = [lesions(grade) for grade in range(5)]

    assert counts[0] == 0
    assert all(more > fewer for fewer, more in pairwise(counts))


def test_a_folder_has_a_table_of_its_grades(tmp_path: Path) -> None:
    table = write_photographs(tmp_path / "eyes", 2, grades=(0, 3))

    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["grade"] for row in rows] == ["0", "0", "3", "3"]
    assert all((tmp_path / "eyes" / row["image"]).is_file() for row in rows)
