"""prices.json: the prices that amounts came from stay with the results."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from prumo.errors import InputError, StorageError
from prumo.money.billing import Exchange
from prumo.money.study_prices import (
    Prices,
    machine_label,
    named_prices,
    rates_of,
    read_prices,
    write_prices,
)
from prumo.results.tables import Results, runs_where
from support.priced_runs import machine_results, rate
from support.study_factory import training_study

if TYPE_CHECKING:
    from pathlib import Path

DAY = date(2026, 11, 14)
REAL = Exchange(currency="BRL", rate=5.4, as_of=DAY)


def test_prices_are_read_as_they_were_written(tmp_path: Path) -> None:
    prices = Prices(made=DAY, rates={"cpu": rate(0.169)}, exchange=REAL)
    write_prices(tmp_path, prices)

    assert read_prices(tmp_path) == prices


def test_a_folder_that_nobody_priced_has_no_prices(tmp_path: Path) -> None:
    assert read_prices(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"made": "2026-11-14", "rates": {"cpu": 3}}',
        '{"made": "2026-11-14", "rates": {}, "format": 2}',
        Prices(made=DAY, rates={"cpu": rate(3.0)}).model_dump_json().replace("3.0", "-3.0"),
    ],
)
def test_broken_prices_are_an_error_that_says_what_to_do(tmp_path: Path, content: str) -> None:
    (tmp_path / "prices.json").write_text(content)

    with pytest.raises(StorageError, match=r"prices\.json: .* Move the file away .* reprice"):
        read_prices(tmp_path)


def test_repricing_keeps_what_was_there_before() -> None:
    first = Prices(made=DAY, rates={"": rate(1.0)})
    second = first.repriced({"": rate(2.0)}, REAL, date(2026, 12, 1))
    third = second.repriced({"": rate(3.0)}, None, date(2027, 1, 1))

    assert [kept.rates[""].amount for kept in third.earlier] == [1.0, 2.0]
    assert [kept.exchange for kept in third.earlier] == [None, REAL]
    assert third.rates[""].amount == 3.0


def test_every_scenario_has_the_rate_of_its_machine(tmp_path: Path) -> None:
    folder = machine_results(tmp_path / "results")
    write_prices(folder, Prices(made=DAY, rates={"cpu": rate(1.0), "gpu": rate(2.0)}))
    rates = rates_of(Results(folder))

    assert {name: kept.amount for name, kept in rates.items()} == {
        "C1": 1.0,
        "C2": 1.0,
        "C3": 2.0,
        "C4": 2.0,
    }


def test_a_machine_without_a_price_leaves_its_scenarios_without_one(tmp_path: Path) -> None:
    folder = machine_results(tmp_path / "results")
    write_prices(folder, Prices(made=DAY, rates={"gpu": rate(2.0)}))

    assert set(rates_of(Results(folder))) == {"C3", "C4"}


def test_the_empty_label_holds_for_all_others(tmp_path: Path) -> None:
    folder = machine_results(tmp_path / "results")
    write_prices(folder, Prices(made=DAY, rates={"": rate(1.0), "gpu": rate(2.0)}))

    assert [kept.amount for kept in rates_of(Results(folder)).values()] == [1.0, 1.0, 2.0, 2.0]


def test_without_prices_there_are_no_rates(tmp_path: Path) -> None:
    assert rates_of(Results(machine_results(tmp_path / "results"))) == {}


def test_a_study_names_prices_by_machine() -> None:
    study = training_study(
        factors={"environment": ["here", "cloud"], "network": ["rede1"]},
        machines={"here": {}, "cloud": {"price": "gcp/n1-standard-4+T4@us-central1"}},
    )

    assert named_prices(study) == {"cloud": "gcp/n1-standard-4+T4@us-central1"}
    assert machine_label({"environment": "cloud"}) == "cloud"
    assert machine_label({"network": "rede1"}) == ""


def test_a_rule_chooses_runs(tmp_path: Path) -> None:
    results = Results(machine_results(tmp_path / "results"))

    assert runs_where(results, "")["scenario"].n_unique() == 4
    assert set(runs_where(results, "machine == gpu")["scenario"]) == {"C3", "C4"}
    with pytest.raises(InputError, match="neither a parameter nor a level"):
        runs_where(results, "machine == tpu")
    with pytest.raises(InputError, match="satisfies 'machine == gpu and machine == cpu'"):
        runs_where(results, "machine == gpu and machine == cpu")
