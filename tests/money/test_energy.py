"""Energy and CO2: counted where counters are, an estimate that is called one otherwise."""

from __future__ import annotations

import pytest

from prumo.money.cost import costing
from prumo.money.energy import grids, with_energy
from prumo.report.cost_sentences import cost_remarks, source_sentences
from prumo.study import CostSettings
from support.priced_runs import rate, runs_of

IN_IOWA = {"C1": rate(1.0, provider="gcp", region="us-central1")}


def test_counters_of_processors_and_gpus_add_up() -> None:
    runs = runs_of(
        {"C1": [3570.0, 3570.0, 3570.0]},
        energy_joules=[1.8e6, None, None],
        gpu0_power_watts_mean=[500.0, 500.0, None],
    )
    energy = with_energy(runs, {})["energy_kwh"]

    assert energy.to_list() == pytest.approx([1.0, 0.5, None])


def test_what_a_run_states_of_its_energy_is_kept_and_has_its_co2() -> None:
    runs = runs_of({"C1": [3570.0]}, energy_joules=[1.8e6], energy_kwh=[2.0])
    table = with_energy(runs, {}, CostSettings(grid_grams_per_kwh=80))

    assert (table["energy_kwh"].item(), table["co2_grams"].item()) == (2.0, 160.0)


def test_without_counters_nothing_is_said() -> None:
    runs = runs_of({"C1": [10.0]}, tree_cpu_percent_mean=[200.0])

    assert with_energy(runs, IN_IOWA).columns == runs.columns


def test_an_estimate_needs_a_stated_power_and_is_named_one() -> None:
    runs = runs_of({"C1": [3570.0]}, tree_cpu_percent_mean=[200.0])
    table = costing(runs, IN_IOWA, CostSettings(watts_per_core=10))

    assert table.runs["energy_estimate_kwh"].item() == pytest.approx(0.02)
    assert table.runs["co2_estimate_grams"].item() == pytest.approx(0.02 * 412.72)
    assert "energy_kwh" not in table.runs.columns
    assert any("an estimate and not measured" in str(remark) for remark in cost_remarks(table))
    assert any("412.7 g/kWh" in str(source) for source in source_sentences(table))


def test_a_run_that_was_counted_gets_no_estimate() -> None:
    runs = runs_of(
        {"C1": [3570.0, 3570.0]},
        tree_cpu_percent_mean=[200.0, 200.0],
        energy_joules=[3.6e6, None],
    )
    table = with_energy(runs, {}, CostSettings(watts_per_core=10))

    assert table["energy_kwh"].to_list() == pytest.approx([1.0, None])
    assert table["energy_estimate_kwh"].to_list() == pytest.approx([None, 0.02])


def test_the_grid_that_the_user_states_counts_first() -> None:
    runs = runs_of({"C1": [10.0]}, energy_joules=[3.6e6])
    stated = CostSettings(grid_grams_per_kwh=80)

    assert with_energy(runs, IN_IOWA)["co2_grams"].item() == pytest.approx(412.72)
    assert with_energy(runs, IN_IOWA, stated)["co2_grams"].item() == 80
    assert [grid.grams_per_kwh for grid in grids(IN_IOWA, stated)] == [80]


def test_where_the_grid_is_unknown_there_is_no_co2() -> None:
    runs = runs_of({"C1": [10.0]}, energy_joules=[3.6e6])

    assert "co2_grams" not in with_energy(runs, {"C1": rate(1.0)}).columns
