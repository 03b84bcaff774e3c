"""What runs cost: by run, epoch, images and answer; with set-up, idle time and other currencies."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from prumo.errors import InputError
from prumo.money.advice import over_epochs
from prumo.money.billing import Exchange
from prumo.money.cost import costing, currencies, priced
from prumo.money.price import Unit
from prumo.report.cost_sentences import (
    cost_remarks,
    epochs_remark,
    rental_remark,
    source_sentences,
    unpriced_sentences,
)
from prumo.report.label import metric_title
from prumo.statistics.metric import Kind, headlines, in_reading_order, metric_of
from prumo.statistics.summary import summarise
from prumo.study import CostSettings
from support.priced_runs import rate, runs_of

OWN = CostSettings(rental="own")
REAL = Exchange(currency="BRL", rate=5.0, as_of=date(2026, 11, 14))


def test_every_run_is_priced_and_uncertainty_in_time_is_uncertainty_in_money() -> None:
    runs = runs_of({"C1": [3600.0, 7200.0, 5400.0]})
    table = priced(runs, {"C1": rate(2.0)})
    summary = summarise(table, [], ["train_seconds", "cost_usd"])
    time, cost = summary.iter_rows(named=True)

    assert table["cost_usd"].to_list() == pytest.approx([2.0, 4.0, 3.0])
    assert cost["ci_low"] == pytest.approx(time["ci_low"] * 2 / 3600)
    assert cost["ci_high"] == pytest.approx(time["ci_high"] * 2 / 3600)


def test_the_rule_rounds_every_run_that_is_a_rental_of_its_own() -> None:
    runs = runs_of({"C1": [59.0, 61.0, 119.0, 121.0]})
    table = priced(runs, {"C1": rate(60.0, provider="azure")}, OWN)

    assert table["cost_usd"].to_list() == pytest.approx([0.0, 1.0, 1.0, 2.0])


def test_a_part_of_a_longer_rental_pays_for_its_time_exactly() -> None:
    table = priced(runs_of({"C1": [90.0]}), {"C1": rate(60.0, provider="azure")})

    assert table["cost_usd"].to_list() == pytest.approx([1.5])


def test_set_up_and_idle_time_are_billed_when_asked() -> None:
    runs = runs_of({"C1": [3570.0]})
    with_setup = priced(runs, {"C1": rate(1.0)}, CostSettings(setup=True))
    with_idle = priced(runs, {"C1": rate(1.0)}, CostSettings(setup=True, idle_seconds=1800))

    assert with_setup["cost_usd"].item() == pytest.approx(1.0)
    assert with_idle["cost_usd"].item() == pytest.approx(1.5)


def test_amounts_are_told_by_epoch_and_by_thousand_images() -> None:
    runs = runs_of({"C1": [3600.0]}, seconds_per_epoch=[360.0], images=[500_000.0])
    table = priced(runs, {"C1": rate(10.0)})

    assert table["cost_per_epoch_usd"].item() == pytest.approx(1.0)
    assert table["cost_per_1000_images_usd"].item() == pytest.approx(0.02)


def test_an_answer_costs_its_share_of_the_requests_of_a_run() -> None:
    settings = CostSettings(of="inference", metric="wall_seconds")
    runs = runs_of({"C1": [6.0]}, inferences=[25.0])
    table = priced(runs, {"C1": rate(0.00004, unit=Unit.SECOND)}, settings)

    assert table["cost_per_inference_usd"].item() == pytest.approx(36 * 0.00004 / 25)
    assert "cost_usd" not in table.columns


def test_a_run_without_a_count_is_one_request() -> None:
    settings = CostSettings(of="inference")
    table = priced(runs_of({"C1": [2.0]}), {"C1": rate(0.5, unit=Unit.REQUEST)}, settings)

    assert table["cost_per_inference_usd"].item() == 0.5


def test_data_is_paid_by_the_gigabyte() -> None:
    runs = runs_of({"C1": [2.0], "C2": [2.0]}, data_bytes=[2.0**30, None])
    data = rate(0.016, unit=Unit.GIGABYTE)

    assert priced(runs, {"C1": data, "C2": data})["cost_usd"].to_list() == [0.016, None]


def test_a_scenario_without_a_rate_has_no_amounts() -> None:
    table = priced(runs_of({"C1": [3600.0], "C2": [3600.0]}), {"C2": rate(1.0)})

    assert table["cost_usd"].to_list() == [None, 1.0]


def test_without_rates_nothing_is_added() -> None:
    runs = runs_of({"C1": [1.0]})

    assert priced(runs, {}).equals(runs)


def test_amounts_are_told_in_another_currency_too() -> None:
    table = priced(runs_of({"C1": [3600.0]}), {"C1": rate(2.0)}, exchange=REAL)

    assert (table["cost_usd"].item(), table["cost_brl"].item()) == (2.0, 10.0)


def test_prices_in_several_currencies_stay_apart() -> None:
    rates = {"C1": rate(2.0), "C2": rate(3.0, currency="EUR")}
    table = priced(runs_of({"C1": [3600.0], "C2": [3600.0]}), rates, exchange=REAL)

    assert currencies(rates, REAL) == ["USD", "EUR", "BRL"]
    assert table["cost_usd"].to_list() == [2.0, None]
    assert table["cost_eur"].to_list() == [None, 3.0]
    assert table["cost_brl"].to_list() == [10.0, None]


def test_an_exchange_of_another_base_changes_nothing() -> None:
    assert currencies({"C1": rate(2.0, currency="EUR")}, REAL) == ["EUR"]


def test_a_failed_run_has_no_training_time_and_costs_only_its_process() -> None:
    runs = runs_of({"C1": [3570.0]}).with_columns(pl.lit(None, pl.Float64).alias("train_seconds"))

    assert priced(runs, {"C1": rate(1.0)})["cost_usd"].item() is None
    assert priced(runs, {"C1": rate(1.0)}, CostSettings(setup=True))["cost_usd"].item() == 1.0


def test_what_a_run_states_of_its_cost_is_kept() -> None:
    runs = runs_of({"C1": [3600.0]}, cost_usd=[7.0])

    assert priced(runs, {"C1": rate(1.0)})["cost_usd"].item() == 7.0


def test_a_metric_that_no_run_has_cannot_be_billed() -> None:
    runs = runs_of({"C1": [1.0]})
    with pytest.raises(InputError, match="did you mean 'train_seconds'"):
        priced(runs, {"C1": rate(1.0)}, CostSettings(metric="train_second"))
    with pytest.raises(InputError, match="no run has a time 'verdict'"):
        priced(runs, {"C1": rate(1.0)}, CostSettings(metric="verdict"))


def test_times_that_cannot_be_have_no_amount() -> None:
    runs = runs_of({"C1": [-1.0, float("nan")]})

    assert priced(runs, {"C1": rate(1.0)})["cost_usd"].to_list() == [None, None]


def test_where_a_rental_of_its_own_costs_otherwise_that_is_said_with_how_to_ask_for_it() -> None:
    runs = runs_of({"C1": [59.0, 6000.0]})
    rates = {"C1": rate(1.0, provider="azure")}

    remark = str(rental_remark(costing(runs, rates, CostSettings())))
    assert "the amount of 1 run would differ by more than 10 %" in remark
    assert "`prumo cost --rental own` tells it" in remark
    own = str(rental_remark(costing(runs, rates, OWN)))
    assert "changes the amount of 1 run by more than 10 %" in own
    for settings in (CostSettings(), OWN):
        long = costing(runs_of({"C1": [6000.0]}), rates, settings)
        assert "%" not in str(rental_remark(long))


def test_a_price_tells_its_rounding_only_where_it_is_applied() -> None:
    runs, rates = runs_of({"C1": [90.0]}), {"C1": rate(1.0, provider="azure")}
    (shared,), (own,) = (
        source_sentences(costing(runs, rates, settings)) for settings in (CostSettings(), OWN)
    )

    assert "$1.00/h as of 2026-11-01; from a quote" in str(shared)
    assert "as of 2026-11-01, billed by whole minutes" in str(own)


def test_images_are_those_that_a_run_trained_on_also_where_a_study_varies_them() -> None:
    runs = runs_of({"C1": [3600.0]}, images=[50_000], metric_images=[500_000.0])

    assert priced(runs, {"C1": rate(10.0)})["cost_per_1000_images_usd"].item() == pytest.approx(
        0.02
    )


def test_scenarios_without_a_price_are_named_where_others_have_one() -> None:
    runs = runs_of({"C1": [3600.0], "C2": [3600.0]})
    (named,) = unpriced_sentences(costing(runs, {"C2": rate(1.0)}, CostSettings()))

    assert str(named) == "Without a price, and so without a cost: C1."
    assert unpriced_sentences(costing(runs, {}, CostSettings())) == []


def test_an_exchange_that_no_price_can_use_is_remarked_on() -> None:
    table = costing(
        runs_of({"C1": [3600.0]}), {"C1": rate(2.0, currency="EUR")}, CostSettings(), REAL
    )

    assert "No price is in USD, so the exchange to BRL is not used." in map(
        str, cost_remarks(table)
    )


def test_money_comes_after_speed_and_the_cost_of_a_run_is_a_headline() -> None:
    names = ["loss", "cost_per_epoch_brl", "cost_brl", "train_seconds"]

    assert in_reading_order(names)[0] == "train_seconds"
    assert headlines(names)[:2] == ["train_seconds", "cost_brl"]
    metric = metric_of("cost_per_1000_images_brl")
    assert (metric.kind, metric.unit, metric.better) == (Kind.MONEY, "BRL", "lower")
    assert str(metric_title(metric.name)) == "Cost per 1,000 images"


def test_a_costing_tells_currency_metrics_and_sources() -> None:
    runs = runs_of({"C1": [3600.0], "C2": [3600.0]})
    table = costing(runs, {"C1": rate(2.0), "C2": rate(2.0)}, CostSettings(idle_seconds=60), REAL)

    assert (table.currency, table.cost_metric, table.time_metric) == (
        "BRL",
        "cost_brl",
        "train_seconds",
    )
    assert table.metrics == ["cost_usd", "cost_brl"]
    price, exchange = map(str, source_sentences(table))
    assert price.startswith("Price: lab/box@here, on demand, $2.00/h as of 2026-11-01")
    assert exchange == "Exchange: $1.00 = R$5.00 on 2026-11-14."
    assert any("idle time" in str(remark) for remark in cost_remarks(table))


def test_other_epochs_change_training_and_leave_set_up() -> None:
    runs = runs_of({"C1": [20.0]}, seconds_per_epoch=[10.0], images=[2000.0])
    longer = over_epochs(runs, 100)

    assert longer.row(0, named=True) | {"run": "", "scenario": ""} == {
        "run": "",
        "scenario": "",
        "verdict": "finished",
        "train_seconds": 1000.0,
        "wall_seconds": 1030.0,
        "seconds_per_epoch": 10.0,
        "images": 100_000.0,
    }
    assert "100 epochs" in str(epochs_remark(100))
    with pytest.raises(InputError, match="do not tell the time of an epoch"):
        over_epochs(runs_of({"C1": [20.0]}), 100)
