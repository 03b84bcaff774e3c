"""What is wrong or doubtful in prices is found, and nothing else."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from prumo.money.catalog import own_prices, shipped_prices
from prumo.money.lint import Problem, lint
from prumo.money.price import Price
from prumo.money.update import take_in
from prumo.report.prices import PROBLEM_TEXTS, no_usable_price

TODAY = date(2026, 11, 16)


def price(sku: str = "box", **other: Any) -> Price:
    known: dict[str, Any] = {"on_demand": 1.0, "as_of": TODAY, "source": "a test"}
    return Price(provider="lab", sku=sku, region="here", **(known | other))


@pytest.mark.parametrize(
    ("other", "problem", "detail"),
    [
        ({"on_demand": None}, Problem.NO_PRICE, "neither on demand nor spot"),
        ({"on_demand": float("nan")}, Problem.NOT_A_NUMBER, "on demand nan"),
        ({"spot": float("inf")}, Problem.NOT_A_NUMBER, "spot inf"),
        ({"on_demand": 0}, Problem.ZERO, "on demand 0"),
        ({"spot": 0}, Problem.ZERO, "spot 0"),
        ({"on_demand": -0.5}, Problem.NEGATIVE, "on demand -0.5"),
        ({"on_demand": 700.0}, Problem.SENTINEL, "on demand 700"),
        ({"currency": "R$"}, Problem.CURRENCY, "'R$'"),
        ({"currency": "usd"}, Problem.CURRENCY, "'usd'"),
        ({"as_of": None}, Problem.UNDATED, "it has no date"),
        ({"as_of": TODAY + timedelta(2)}, Problem.FUTURE, "2026-11-18"),
        ({"as_of": TODAY - timedelta(366)}, Problem.STALE, "of 2025-11-15, 366 days old"),
        ({"spot": 1.5}, Problem.SPOT_ABOVE_ON_DEMAND, "spot 1.5, on demand 1"),
        ({"source": ""}, Problem.NO_SOURCE, "it names no source"),
    ],
)
def test_each_problem_is_found(other: dict[str, Any], problem: Problem, detail: str) -> None:
    found = lint([price(**other)], TODAY)
    assert (problem, detail) in [(finding.problem, finding.detail) for finding in found]


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"spot": 1.0},
        {"on_demand": None, "spot": 0.3},
        {"on_demand": 691.2},
        {"currency": "BRL"},
        {"as_of": TODAY - timedelta(365)},
        {"as_of": TODAY + timedelta(1)},
    ],
)
def test_nothing_is_found_in_a_sound_price(other: dict[str, Any]) -> None:
    assert lint([price(**other)], TODAY) == []


def test_a_name_with_two_rows_of_one_day_is_told_once() -> None:
    rows = [price(), price(on_demand=2.0), price("other"), price(as_of=TODAY - timedelta(9))]
    (finding,) = lint(rows, TODAY)
    assert (finding.problem, finding.price) == (Problem.DUPLICATE, rows[0])


def test_an_old_price_with_a_newer_one_beside_it_is_not_stale() -> None:
    history = [price(as_of=TODAY - timedelta(days)) for days in (900, 500, 10)]
    assert lint(history, TODAY) == []
    assert [finding.price for finding in lint(history[:2], TODAY)] == [history[1]]


def test_the_age_that_is_stale_can_be_chosen() -> None:
    old = [price(as_of=TODAY - timedelta(31))]
    assert lint(old, TODAY, max_age_days=31) == []
    assert [finding.problem for finding in lint(old, TODAY, max_age_days=30)] == [Problem.STALE]


def test_every_problem_has_advice_and_a_title_of_its_own() -> None:
    assert all(PROBLEM_TEXTS[problem][1] for problem in Problem)
    assert len({PROBLEM_TEXTS[problem][0] for problem in Problem}) == len(Problem)


def test_the_shipped_catalog_is_sound_but_for_its_honest_age() -> None:
    findings = lint(shipped_prices(), TODAY)
    assert {finding.problem for finding in findings} == {Problem.STALE}
    stale = {finding.price.name for finding in findings}
    assert {each.name for each in shipped_prices() if each.provider == "azure"} < stale


def test_useless_rows_are_left_out_and_doubtful_ones_kept() -> None:
    rows = [
        price("good"),
        price("old", as_of=TODAY - timedelta(999)),
        price("zero", on_demand=0),
        price("undated", as_of=None),
    ]
    intake = take_in(rows, "list", TODAY)
    assert [kept.sku for kept in intake.kept] == ["good", "old"]
    assert [(out.price.sku, out.problem) for out in intake.left_out] == [
        ("zero", Problem.ZERO),
        ("undated", Problem.UNDATED),
    ]
    assert own_prices() == list(intake.kept)


def test_a_number_of_gpus_is_not_lost_to_a_row_that_knows_none() -> None:
    take_in([price(vcpus=4)], "list", TODAY)
    (kept,) = take_in([price(accelerator_count=2)], "list", TODAY).kept
    assert (kept.vcpus, kept.accelerator_count) == (4, 2)


def test_a_list_without_a_usable_row_changes_nothing_and_says_why() -> None:
    rows = [price(as_of=None), price("b", as_of=None), price("c", on_demand=0)]
    intake = take_in(rows, "x", TODAY)
    assert (intake.kept, intake.files) == ((), ())
    assert no_usable_price(intake).startswith(
        "x: no price can be used:\n  no date: 2; say of which"
    )
    assert "zero: 1; nothing is free" in no_usable_price(intake)
    assert own_prices() == []
