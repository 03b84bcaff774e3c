"""Shares and Wilson's interval, also where one patient has several photographs."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from prumo_serve.estimates import rate


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 10), (95, 100), (41, 41), (1, 1)])
def test_the_interval_is_wilsons(hits: int, n: int) -> None:
    found = rate([True] * hits + [False] * (n - hits))

    expected = proportion_confint(hits, n, method="wilson")
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)
    assert (found.value, found.n) == (hits / n, n)


def test_a_patient_whose_photographs_are_all_alike_counts_once() -> None:
    random = np.random.default_rng(1)
    patients = np.repeat([f"P{number}" for number in range(200)], 3)
    hits = random.random(200) < 0.8

    aware, once = rate(np.repeat(hits, 3), patients), rate(hits)

    assert aware.value == once.value
    assert (aware.low, aware.high) == pytest.approx((once.low, once.high), abs=0.002)


def test_patients_whose_photographs_have_nothing_in_common_change_little() -> None:
    random = np.random.default_rng(1)
    hits = random.random(1000) < 0.8

    blind, aware = rate(hits), rate(hits, np.arange(1000) // 2)

    assert (aware.low, aware.high) == pytest.approx((blind.low, blind.high), abs=0.01)


def test_without_a_miss_each_patient_counts_once() -> None:
    assert rate([True] * 20, ["A"] * 10 + ["B"] * 10).low == pytest.approx(rate([True] * 2).low)


@pytest.mark.parametrize("photographs", [[False, True], [False, True, True]])
def test_patients_with_the_same_share_each_count_for_their_photographs_and_no_more(
    photographs: list[bool],
) -> None:
    hits = photographs * 40
    patients = [f"P{number // len(photographs)}" for number in range(len(hits))]

    aware, blind = rate(hits, patients), rate(hits)

    assert (aware.low, aware.high) == pytest.approx((blind.low, blind.high))


def test_nothing_has_no_rate() -> None:
    found = rate([])

    assert isnan(found.value)
    assert (found.low, found.high, found.n) == (None, None, 0)
