from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import polars as pl
import pytest

from prumo.errors import InputError
from prumo.results.tables import Results
from support.result_factory import ResultFactory

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def factory(tmp_path: Path) -> ResultFactory:
    return ResultFactory(tmp_path / "demo")


def test_a_row_per_run_with_levels_outcome_and_metrics_in_that_order(
    factory: ResultFactory,
) -> None:
    results = Results(factory.study_of(2).path)
    runs = results.runs()

    assert runs.height == 8
    assert runs.columns[:9] == [
        *("run", "scenario", "replication", "framework", "batch_size"),
        *("verdict", "reason", "wall_seconds", "order"),
    ]
    assert runs.columns[9] == "train_seconds"
    assert results.factors == ("framework", "batch_size")
    assert results.study_name == "demo"


def test_runs_are_ordered_by_scenario_number_and_not_by_name(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "demo", factors={"x": list(range(120))})
    factory.study_of(1)

    scenarios = Results(factory.path).runs()["scenario"].to_list()

    assert scenarios == [f"C{number}" for number in range(1, 121)]


def test_usage_of_every_run_is_taken_from_its_samples(factory: ResultFactory) -> None:
    folder = factory.run(1, 1, {"framework": "pytorch"})
    (folder / "samples.csv").write_text(
        "time,seconds,cpu_percent,tree_rss_bytes,energy_joules,gpu0_percent,gpu0_power_watts\n"
        "1,0,,1000,0,80,200\n2,1,70,3000,12.5,90,220\n3,2,60,2000,30,100,210\n"
    )
    row = Results(factory.path).runs().row(0, named=True)

    assert row["cpu_percent_mean"] == 65
    assert row["tree_rss_bytes_max"] == 3000
    assert row["energy_joules"] == 30
    assert row["gpu0_percent_mean"] == 95
    assert row["gpu0_power_watts_mean"] == 215


def test_runs_of_machines_with_other_hardware_stand_in_one_table(tmp_path: Path) -> None:
    plain = ResultFactory(tmp_path / "demo")
    plain.run(1, 1, {"machine": "small"})
    with_gpu = ResultFactory(tmp_path / "other", gpu=True)
    shutil.copytree(with_gpu.run(2, 1, {"machine": "large"}), plain.path / "runs" / "C02-r1")

    gpu = Results(plain.path).runs()["gpu0_percent_mean"]

    assert gpu[0] is None
    assert gpu[1] == pytest.approx(70, abs=5)


def test_half_a_row_of_samples_costs_no_other_row(factory: ResultFactory) -> None:
    folder = factory.run(1, 1, {"framework": "pytorch"})
    (folder / "samples.csv").write_text("time,seconds,cpu_percent\n1,0,\n2,1,60\n3,2,40\n4,3")

    results = Results(factory.path)

    assert results.samples().collect()["cpu_percent"].to_list() == [None, 60, 40, None]
    assert results.runs()["cpu_percent_mean"].to_list() == [50]


def test_a_run_without_samples_has_no_usage(factory: ResultFactory) -> None:
    folder = factory.run(1, 1, {"framework": "pytorch"})
    (folder / "samples.csv").write_text("")

    assert "cpu_percent_mean" not in Results(factory.path).runs().columns


def test_levels_of_several_types_become_text(factory: ResultFactory) -> None:
    for number, level in enumerate([1, "auto", True], start=1):
        factory.run(number, 1, {"threads": level})

    assert Results(factory.path).runs()["threads"].to_list() == ["1", "auto", "true"]


def test_whole_and_broken_numbers_stay_numbers(factory: ResultFactory) -> None:
    for number, level in enumerate([1, 0.5], start=1):
        factory.run(number, 1, {"rate": level})

    assert Results(factory.path).runs()["rate"].to_list() == [1.0, 0.5]


def test_names_that_are_taken_lose_no_column(factory: ResultFactory) -> None:
    factory.run(1, 1, {"order": "up", "size": 3}, metrics={"size": 7.0, "reason": 1.0})
    results = Results(factory.path)
    row = results.runs().row(0, named=True)

    assert results.factors == ("factor_order", "size")
    assert (row["factor_order"], row["size"]) == ("up", 3)
    assert (row["metric_size"], row["metric_reason"]) == (7.0, 1.0)


def test_unreadable_records_are_listed_and_the_others_read(factory: ResultFactory) -> None:
    factory.study_of(1)
    (factory.path / "runs" / "C02-r1" / "run.json").write_text('{"format": 1, "run": "C0')
    (factory.path / "runs" / "C03-r1" / "run.json").write_text('{"format": 99}')
    results = Results(factory.path)

    assert results.runs()["run"].to_list() == ["C01-r1", "C04-r1"]
    assert [item.path.parent.name for item in results.unreadable] == ["C02-r1", "C03-r1"]
    assert "newer prumo" in results.unreadable[1].reason


def test_a_run_without_a_record_is_unfinished(factory: ResultFactory) -> None:
    factory.study_of(1)
    (factory.path / "runs" / "C02-r1" / "run.json").unlink()
    results = Results(factory.path)

    assert results.unfinished == ("C02-r1",)
    assert results.runs().height == 3


def test_failures_keep_their_reasons(factory: ResultFactory) -> None:
    factory.run(1, 1, {"batch_size": 32})
    factory.run(2, 1, {"batch_size": 9999}, verdict="out_of_memory", reason="4 GiB asked")
    (row,) = Results(factory.path).failures().rows(named=True)

    assert (row["run"], row["verdict"], row["reason"]) == ("C02-r1", "out_of_memory", "4 GiB asked")


def test_steps_and_epochs_are_read_from_the_journals(factory: ResultFactory) -> None:
    factory.study_of(1)
    results = Results(factory.path)

    assert isinstance(results.steps(), pl.LazyFrame)
    steps = results.steps("C01-r1").collect()
    assert steps.height == 21
    assert steps["epoch"].to_list()[:2] == [0, 1]
    epochs = results.epochs().collect()
    assert epochs.height == 16
    assert epochs.filter(run="C04-r1")["accuracy"].to_list()[-1] == pytest.approx(0.932, abs=0.001)


def test_a_loss_that_is_no_number_and_a_torn_line_cost_no_other_step(
    factory: ResultFactory,
) -> None:
    folder = factory.run(1, 1, {"framework": "pytorch"})
    (folder / "events.jsonl").write_text(
        '{"event": "step", "epoch": 1, "step": 1, "seconds": 1e-05, "loss": NaN}\n'
        '{"event":"step","epoch":1,"step":2,"seconds":0.5,"loss":-2.5}\n'
        '{"event": "step", "epoch": 1, "st'
    )
    steps = Results(factory.path).steps().collect()

    assert steps["loss"].to_list()[:2] == [None, -2.5]
    assert steps["seconds"].to_list()[:2] == [1e-05, 0.5]


def test_factors_come_from_the_runs_when_the_study_cannot_be_read(factory: ResultFactory) -> None:
    factory.study_of(1)
    (factory.path / "study.yaml").write_text("name: [")
    results = Results(factory.path)

    assert results.factors == ("framework", "batch_size")
    assert results.study_name == "demo"


def test_an_empty_results_folder_has_empty_tables(factory: ResultFactory) -> None:
    results = Results(factory.path)

    assert results.runs().is_empty()
    assert results.samples().collect().is_empty()
    assert results.epochs().collect().is_empty()
    assert results.conditions().is_empty()


def test_conditions_say_machine_data_and_cost(factory: ResultFactory) -> None:
    factory.run(1, 1, {"framework": "pytorch"})
    row = Results(factory.path).conditions().row(0, named=True)

    assert row["machine"] == "bench-1: Xeon E5-2690 v4, 8 cores, 32 GiB"
    assert row["data_source"] == "/data/mnist"
    assert row["cores"] == 8
    assert row["versions"] == "python 3.12.4, pytorch 2.4.0"
    assert row["steal_percent_mean"] == pytest.approx(0.1)


def test_conditions_say_device_threads_and_settings(factory: ResultFactory) -> None:
    settings = {"threads": 4, "affinity": [0, 1]}
    factory.run(1, 1, {}, device="cuda", threads=4, settings=settings)
    row = Results(factory.path).conditions().row(0, named=True)

    assert (row["device"], row["threads"]) == ("cuda", 4)
    assert json.loads(row["settings"]) == settings


def test_a_factor_named_as_a_usage_figure_hides_neither(factory: ResultFactory) -> None:
    factory.run(1, 1, {"cpu_percent_mean": "low"})
    results = Results(factory.path)

    assert results.runs()["cpu_percent_mean"].to_list() == ["low"]
    assert "metric_cpu_percent_mean" in results.metrics
    assert results.conditions()["cpu_percent_mean"][0] > 50


@pytest.mark.parametrize("name", ["^.*$", "*"])
def test_a_name_that_is_a_pattern_means_its_own_column_only(
    factory: ResultFactory, name: str
) -> None:
    factory.run(1, 1, {name: "level"}, metrics={name: 7.0, "other": 1.0})
    results = Results(factory.path)
    (factor,) = results.factors

    assert results.runs().select(factor).to_dict(as_series=False) == {f"factor_{name}": ["level"]}
    assert results.runs().select(pl.col(f"metric_{name}")).to_series().to_list() == [7.0]


@pytest.mark.parametrize("name", ["C01-r1.bak", "copy-of-C01-r1", "C02-r1"])
def test_a_copy_of_a_run_under_another_name_is_not_counted(
    factory: ResultFactory, name: str
) -> None:
    folder = factory.run(1, 1, {"framework": "pytorch"})
    shutil.copytree(folder, folder.with_name(name))
    results = Results(factory.path)

    assert results.runs()["run"].to_list() == ["C01-r1"]
    (unreadable,) = results.unreadable
    assert unreadable.path.parent.name == name
    assert "does not match its record" in unreadable.reason


def test_a_folder_that_holds_no_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a results folder"):
        Results(tmp_path)


def test_the_folder_of_several_studies_names_them(tmp_path: Path) -> None:
    ResultFactory(tmp_path / "first")
    ResultFactory(tmp_path / "second")

    with pytest.raises(InputError, match="give one: first, second"):
        Results(tmp_path)


def test_an_unknown_run_is_refused_with_the_nearest_name(factory: ResultFactory) -> None:
    factory.run(1, 1, {"framework": "pytorch"})

    with pytest.raises(InputError, match="did you mean 'C01-r1'"):
        Results(factory.path).samples("C1-r1")


def test_samples_are_read_in_the_folder_that_holds_signs_of_patterns(tmp_path: Path) -> None:
    factory = ResultFactory(tmp_path / "odd [1] *")
    factory.study_of(1)

    assert Results(factory.path).samples().collect().height == 80


def test_the_run_is_known_by_its_record(factory: ResultFactory) -> None:
    record = json.loads((factory.run(1, 1, {"x": 1}) / "run.json").read_text())

    assert Results(factory.path).records[0].fingerprint == record["fingerprint"]
