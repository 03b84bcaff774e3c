"""Allocation of variation against published tables: NIST's reference datasets, Jain's textbook."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from prumo.report.sections.variation import variation_remarks
from prumo.statistics.variation import Variation, variation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# NIST StRD, analysis of variance: www.itl.nist.gov/div898/strd/anova/anova.html
SILICON_RESISTIVITY = [
    [196.3052, 196.1240, 196.1890, 196.2569, 196.3403],
    [196.3042, 196.3825, 196.1669, 196.3257, 196.0422],
    [196.1303, 196.2005, 196.2889, 196.0343, 196.1811],
    [196.2795, 196.1748, 196.1494, 196.1485, 195.9885],
    [196.2119, 196.1051, 196.1850, 196.0052, 196.2090],
]
# The atomic weight of silver: what follows 107.868, in 1e-7.
SILVER = """
1568 1465 1572 1785 1446 1903 1526 1494 1616 1587 1519 1486 1419 1569 1508 1672 1385 1518 1662 1424
1360 1333 1610 1477
1079 1344 1513 1197 1604 1385 1642 1365 1151 1082 1517 1448 1198 1482 1334 1609 1101 1512 1469 1360
1254 1261 1450 1368
"""


def test_silicon_resistivity_of_nist_holds_to_thirteen_digits() -> None:
    between, within = one_factor(SILICON_RESISTIVITY).rows

    assert (between.degrees_of_freedom, within.degrees_of_freedom) == (4, 20)
    assert between.sum_of_squares == pytest.approx(5.11462616e-02, rel=1e-12)
    assert within.sum_of_squares == pytest.approx(2.1663656e-01, rel=1e-12)
    assert between.f == pytest.approx(1.18046237440255, rel=1e-12)
    assert between.share == pytest.approx(1.90999039051129e-01, rel=1e-12)


def test_the_weight_of_silver_of_nist_holds_to_ten_digits() -> None:
    weights = [float(f"107.868{digits}") for digits in SILVER.split()]
    between, within = one_factor([weights[:24], weights[24:]]).rows

    assert between.sum_of_squares == pytest.approx(3.638341875e-09, rel=1e-9)
    assert within.sum_of_squares == pytest.approx(1.04951729166667e-08, rel=1e-9)
    assert between.f == pytest.approx(15.9467335677930, rel=1e-9)


# Doubles hold 1000000000000.4 to 6e-5, so no program can do better than four digits there.
@pytest.mark.parametrize(
    ("leading", "digits"), [("1", 14), ("1000000", 9.5), ("1000000000000", 3.5)]
)
@pytest.mark.parametrize(
    ("runs", "between_squares", "within_squares", "f"),
    [(21, 1.68, 1.8, 21.0), (201, 16.08, 18.0, 201.0), (2001, 160.08, 180.0, 2001.0)],
)
def test_simon_and_lesages_data_of_nist_hold_to_the_digits_that_doubles_have(
    leading: str, digits: float, runs: int, between_squares: float, within_squares: float, f: float
) -> None:
    between, within = one_factor(simon_and_lesage(leading, runs)).rows

    precision = 10**-digits
    assert between.sum_of_squares == pytest.approx(between_squares, rel=precision)
    assert within.sum_of_squares == pytest.approx(within_squares, rel=precision)
    assert between.f == pytest.approx(f, rel=precision)


def test_the_memory_and_cache_study_of_jain_with_replications() -> None:
    # Jain (1991), chapter 18: effects 41, 21.5, 9.5, 5; the rest follows from these data.
    values = {
        (4, 1): (15, 18, 12),
        (16, 1): (45, 48, 51),
        (4, 2): (25, 28, 19),
        (16, 2): (75, 75, 81),
    }
    found = of_cells(("memory", "cache"), values)

    assert squares(found) == pytest.approx(
        {
            ("memory",): 12 * 21.5**2,
            ("cache",): 12 * 9.5**2,
            ("memory", "cache"): 12 * 5**2,
            (): 102,
        }
    )
    assert percents(found) == pytest.approx(
        {("memory",): 78.88, ("cache",): 15.40, ("memory", "cache"): 4.27, (): 1.45}, abs=0.005
    )


def test_the_memory_and_cache_study_of_jain_without_replications_has_no_tests() -> None:
    # Jain, chapter 17: effects 20, 10 and 5, so 76, 19 and 5 % of 2,100; the last is error here.
    values = {(4, 1): (15,), (16, 1): (45,), (4, 2): (25,), (16, 2): (75,)}
    found = of_cells(("memory", "cache"), values)

    assert sum(row.sum_of_squares for row in found.rows) == pytest.approx(2100)
    assert percents(found) == pytest.approx({("memory",): 76, ("cache",): 19, (): 5}, abs=0.5)


def test_the_workstation_study_of_jain_with_three_factors() -> None:
    # Jain, chapter 17: effects 10, 5, 20, 5, 2 and 3, and 1 of all three, which is error here.
    results = (14, 46, 22, 58, 10, 50, 34, 86)
    levels = [(memory, cache, count) for cache in (1, 2) for memory in (4, 16) for count in (1, 2)]
    cells = {place: (mips,) for place, mips in zip(levels, results, strict=True)}
    found = of_cells(("memory", "cache", "processors"), cells)

    assert sum(row.sum_of_squares for row in found.rows) == pytest.approx(4512)
    assert percents(found) == pytest.approx(
        {
            ("memory",): 18,
            ("cache",): 4,
            ("processors",): 71,
            ("memory", "cache"): 4,
            ("memory", "processors"): 1,
            ("cache", "processors"): 2,
            (): 0,
        },
        abs=0.5,
    )


def test_the_code_size_study_of_jain_with_one_factor() -> None:
    # Jain, chapter 20: error is 89.6 % of the variation; the squares follow from these data.
    found = one_factor(
        [[144, 120, 176, 288, 144], [101, 144, 211, 288, 72], [130, 180, 141, 374, 302]]
    )
    between, within = found.rows

    assert between.sum_of_squares == pytest.approx(10_992.13, abs=0.005)
    assert within.sum_of_squares == pytest.approx(94_365.20, abs=0.005)
    assert 100 * between.share == pytest.approx(10.4, abs=0.05)
    assert between.f == pytest.approx(0.7, abs=0.05)
    assert (between.p_value or 0) > 0.05


def test_the_cache_study_of_jain_with_two_factors_and_single_runs() -> None:
    # Jain, chapter 21: effects of caches -21.2, -20.2 and 41.4; the rest follows from these data.
    times = [[54, 55, 106], [60, 60, 123], [43, 43, 120], [49, 52, 111], [49, 50, 108]]
    found = of_cells(
        ("workload", "caches"),
        {(row, column): (times[row][column],) for row in range(5) for column in range(3)},
    )

    assert degrees(found) == {("workload",): 4, ("caches",): 2, (): 8}
    assert squares(found)[()] == pytest.approx(236.8, abs=0.05)
    assert squares(found)["caches",] == pytest.approx(5 * (21.2**2 + 20.2**2 + 41.4**2))
    assert percents(found) == pytest.approx(
        {("caches",): 95.9, ("workload",): 2.3, (): 1.8}, abs=0.05
    )


def test_unequal_numbers_of_runs_give_the_type_ii_squares_of_a_hand_calculation() -> None:
    values = {("x", "u"): (2, 4), ("x", "v"): (6,), ("y", "u"): (5,), ("y", "v"): (9, 11)}
    found = of_cells(("a", "b"), values)

    # The means of a are 4 and 25/3, those of b 11/3 and 26/3.
    a_alone = [(2, 4), (4, 4), (6, 4), (5, 25 / 3), (9, 25 / 3), (11, 25 / 3)]
    b_alone = [(2, 11 / 3), (4, 11 / 3), (5, 11 / 3), (6, 26 / 3), (9, 26 / 3), (11, 26 / 3)]
    # The normal equations 3m + d = 12, 3m + 2d + 3e = 25, 3m + e = 11 give m = 8/3, d = 4, e = 3.
    both = [(2, 8 / 3), (4, 8 / 3), (6, 20 / 3), (5, 17 / 3), (9, 29 / 3), (11, 29 / 3)]
    about_a, about_b, about_both = (
        sum((y - fit) ** 2 for y, fit in fits) for fits in (a_alone, b_alone, both)
    )

    assert squares(found) == pytest.approx(
        {
            ("a",): about_b - about_both,
            ("b",): about_a - about_both,
            ("a", "b"): about_both - 4,
            (): 4,
        }
    )
    assert any("add up to" in str(remark) for remark in variation_remarks(found))


def test_unequal_numbers_of_runs_give_the_type_ii_table_of_statsmodels() -> None:
    source = np.random.default_rng(3)
    values = {
        levels: tuple(source.normal(sum(levels), 0.3, size=source.integers(1, 6)))
        for levels in product(range(2), range(3), range(2))
    }
    found = of_cells(("first", "second", "third"), values)
    rows = [(*levels, value) for levels, cell in values.items() for value in cell]
    table = pd.DataFrame(rows, columns=["first", "second", "third", "y"])
    formula = "y ~ C(first, Sum) * C(second, Sum) * C(third, Sum)"
    expected = anova_lm(ols(formula, data=table).fit(), typ=2)

    assert [row.sum_of_squares for row in found.rows] == pytest.approx(list(expected["sum_sq"]))
    assert [row.degrees_of_freedom for row in found.rows] == list(expected["df"])
    assert [row.f for row in found.rows[:-1]] == pytest.approx(list(expected["F"])[:-1])
    assert [row.p_value for row in found.rows[:-1]] == pytest.approx(list(expected["PR(>F)"])[:-1])


def simon_and_lesage(leading: str, runs: int) -> list[list[float]]:
    """Nine groups around tenths of 3, 4 and 5, a tenth up and down in turn (Simon, Lesage 1989)."""
    return [
        [float(f"{leading}.{middle}")]
        + [float(f"{leading}.{middle + (1 if place % 2 else -1)}") for place in range(runs - 1)]
        for middle in (4, 3, 5, 3, 5, 3, 5, 3, 5)
    ]


def one_factor(groups: Sequence[Sequence[float]]) -> Variation:
    return of_cells(("group",), {(name,): values for name, values in enumerate(groups)})


def of_cells(factors: tuple[str, ...], cells: Mapping[Any, Sequence[float]]) -> Variation:
    rows = [
        {
            **{factor: str(level) for factor, level in zip(factors, levels, strict=True)},
            "y": float(y),
        }
        for levels, values in cells.items()
        for y in values
    ]
    return variation(pl.DataFrame(rows).with_columns(verdict=pl.lit("finished")), factors, "y")


def squares(found: Variation) -> dict[tuple[str, ...], float]:
    return {row.term: row.sum_of_squares for row in found.rows}


def percents(found: Variation) -> dict[tuple[str, ...], float]:
    return {row.term: 100 * row.share for row in found.rows}


def degrees(found: Variation) -> dict[tuple[str, ...], int]:
    return {row.term: row.degrees_of_freedom for row in found.rows}
