from __future__ import annotations

import random

import pytest

from prumo.statistics.outliers import grubbs_p_value, grubbs_statistic

# NIST/SEMATECH e-Handbook 1.3.5.17.1: mass spectrometer readings of a uranium isotope.
URANIUM = [199.31, 199.53, 200.19, 200.82, 201.92, 201.95, 202.18, 245.57]


def test_the_statistic_of_the_nist_example_is_found_again() -> None:
    assert grubbs_statistic(URANIUM) == pytest.approx(2.468764, abs=1e-6)


def test_the_nist_example_holds_an_outlier() -> None:
    assert grubbs_p_value(URANIUM) < 0.001
    assert grubbs_p_value(URANIUM[:-1]) > 0.1


def test_the_critical_value_of_printed_tables_has_its_probability() -> None:
    # Grubbs and Beck (1972): for eight values, 2.126 is exceeded two-sidedly in 5 % of samples.
    values = _with_statistic(2.126, 8)

    assert grubbs_p_value(values) == pytest.approx(0.05, abs=0.001)


def test_equal_values_and_few_values_hold_no_outlier() -> None:
    assert grubbs_p_value([1.0, 1.0, 1.0, 1.0]) == 1.0
    assert grubbs_p_value([1.0, 9.0]) == 1.0


def test_alarms_on_normal_values_are_as_rare_as_stated() -> None:
    source = random.Random(3)
    samples = [[source.gauss(0, 1) for _ in range(5)] for _ in range(4000)]
    alarms = sum(grubbs_p_value(sample) < 0.05 for sample in samples)

    assert 0.035 < alarms / 4000 < 0.065


def _with_statistic(wanted: float, n: int) -> list[float]:
    """Values whose farthest has this statistic, by bisection on how far out it is."""
    inner = [float((-1) ** place) for place in range(n - 1)]
    low, high = 1.0, 1000.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if grubbs_statistic([*inner, middle]) < wanted else (low, middle)
    return [*inner, low]
