from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

from prumo.message import Message
from prumo.report.find_warnings import (
    CHECKS,
    DRIFT_P_VALUE,
    OUTLIER_P_VALUE,
    Evidence,
    find_warnings,
)
from prumo.report.warnings import WarningKind
from prumo.results.record import Spread
from prumo.statistics.outliers import drift_over_order
from prumo.study.network import Architecture

STATISTICAL = {WarningKind.DRIFT, WarningKind.OUTLIERS, WarningKind.WIDE_INTERVAL}


def test_studies_of_equal_scenarios_hardly_ever_warn() -> None:
    evidences = (_evidence(seed=seed, scenarios=12, replications=5) for seed in range(100))
    shouting = sum(any(CHECKS[kind](evidence) for kind in STATISTICAL) for evidence in evidences)

    assert shouting <= 4


@pytest.mark.parametrize("replications", [2, 3])
def test_drift_is_as_rare_as_its_p_value_says_when_there_is_none(replications: int) -> None:
    found = [
        drift_over_order(_runs(seed, 10, replications, noise=0.02), "train_seconds")
        for seed in range(300)
    ]
    alarms = sum(drift is not None and drift.p_value < 0.05 for drift in found)

    # Four standard errors above 5 %; a plain rank correlation gives 13 % at two replications.
    assert alarms / 300 < 0.1


def test_false_alarms_are_as_rare_as_stated() -> None:
    stated = {WarningKind.OUTLIERS: OUTLIER_P_VALUE, WarningKind.DRIFT: DRIFT_P_VALUE}
    alarms = Counter(
        kind
        for seed in range(250)
        for evidence in [_evidence(seed=seed, scenarios=5, replications=6, noise=0.1)]
        for kind in stated
        if CHECKS[kind](evidence)
    )

    for kind, share in stated.items():
        # Four standard errors above what is stated.
        assert alarms[kind] <= 250 * share + 4 * math.sqrt(250 * share)


def test_a_machine_that_slows_down_is_noticed_with_its_size() -> None:
    evidence = _evidence(scenarios=6, replications=5, drift=0.30)
    message = _message(find_warnings(evidence), WarningKind.DRIFT)

    assert "train_seconds changed with the order of the runs: about +2" in message


def test_the_order_of_imported_runs_is_no_order_of_time() -> None:
    evidence = _evidence(scenarios=6, replications=5, drift=0.30)
    imported = evidence.conditions.with_columns(imported=pl.lit(True))

    assert WarningKind.DRIFT in _kinds(evidence)
    assert WarningKind.DRIFT not in _kinds(_with(evidence, conditions=imported))


def test_a_run_twice_as_long_as_its_replications_is_an_outlier() -> None:
    evidence = _evidence(scenarios=4, replications=6)
    slow = pl.when(pl.col("run") == "C02-r3").then(2.0).otherwise(1.0)
    runs = evidence.runs.with_columns(pl.col("train_seconds") * slow)
    warnings = find_warnings(_with(evidence, runs=runs))

    assert "in 1 scenario: C2." in _message(warnings, WarningKind.OUTLIERS)


def test_a_single_run_is_said_to_have_no_interval() -> None:
    warnings = find_warnings(_evidence(scenarios=2, replications=1))

    assert "no interval can be given: C1, C2" in _message(warnings, WarningKind.FEW_RUNS)


def test_wide_intervals_are_named_with_their_width() -> None:
    warnings = find_warnings(_evidence(scenarios=2, replications=3, noise=0.3))

    assert "wider than ±10 % of the mean" in _message(warnings, WarningKind.WIDE_INTERVAL)


def test_a_published_spread_that_gives_a_wide_interval_is_named() -> None:
    spreads = {"C2": {"train_seconds": Spread(n=3, standard_deviation=4.0)}}
    evidence = _with(_evidence(scenarios=2, replications=1), spreads=spreads)
    warnings = find_warnings(evidence)

    assert "in 1 scenario: C2 (±" in _message(warnings, WarningKind.WIDE_INTERVAL)
    assert _message(warnings, WarningKind.FEW_RUNS).endswith("given: C1.")


def test_a_sampler_that_takes_part_of_a_core_is_costly() -> None:
    warnings = find_warnings(_evidence(sampler_cpu_seconds=0.5))

    assert "5.0 % at worst" in _message(warnings, WarningKind.SAMPLER_COSTLY)


def test_generated_data_are_said_to_be_generated() -> None:
    warnings = find_warnings(_evidence(data_source="generated"))
    (generated,) = [kind for kind in warnings if kind is WarningKind.GENERATED_DATA]

    assert "accuracy say nothing" in str(generated.advice)
    assert generated.key == "generated_data"


def test_few_samples_weaken_usage_figures() -> None:
    assert WarningKind.FEW_SAMPLES in _kinds(_evidence(samples=2))


@pytest.mark.parametrize("samples", [0, None])
def test_runs_whose_sampler_died_are_named(samples: int | None) -> None:
    evidence = _evidence(scenarios=1, replications=2)
    one = pl.when(pl.col("run") == "C01-r2").then(pl.lit(samples)).otherwise(pl.col("samples"))
    warnings = find_warnings(
        _with(evidence, conditions=evidence.conditions.with_columns(samples=one))
    )

    assert "in 1 run: C01-r2." in _message(warnings, WarningKind.NO_SAMPLES)
    assert WarningKind.FEW_SAMPLES not in warnings


def test_other_versions_in_the_runs_of_one_scenario_are_named() -> None:
    evidence = _evidence(scenarios=2, replications=3)
    later = pl.when(pl.col("run") == "C02-r3").then(pl.lit("torch 2.5")).otherwise("versions")
    mixed = evidence.conditions.with_columns(versions=later)
    warnings = find_warnings(_with(evidence, conditions=mixed))

    assert "C2 (torch 2.4 / torch 2.5)" in _message(warnings, WarningKind.MIXED_VERSIONS)


def test_versions_may_differ_between_scenarios() -> None:
    evidence = _evidence(scenarios=2)
    apart = evidence.conditions.with_columns(versions="scenario")

    assert WarningKind.MIXED_VERSIONS not in _kinds(_with(evidence, conditions=apart))


@pytest.mark.parametrize(
    ("column", "value"), [("threads", 1), ("device", "cuda"), ("settings", '{"affinity": [0]}')]
)
def test_runs_of_one_scenario_that_were_not_made_alike_are_named(column: str, value: Any) -> None:
    evidence = _evidence(scenarios=2, replications=2)
    other = pl.when(pl.col("run") == "C01-r1").then(pl.lit(value)).otherwise(column).alias(column)
    warnings = find_warnings(_with(evidence, conditions=evidence.conditions.with_columns(other)))

    assert f"not made alike: C1 ({column})." in _message(warnings, WarningKind.MIXED_SETTINGS)


def test_runs_that_do_not_say_with_what_they_ran_are_not_called_mixed() -> None:
    evidence = _evidence(scenarios=1, replications=2)
    silent = pl.when(pl.col("run") == "C01-r1").then(None)
    partly = evidence.conditions.with_columns(
        silent.otherwise(name).alias(name) for name in ("versions", "threads", "device", "settings")
    )

    assert not _kinds(_with(evidence, conditions=partly)) & {
        WarningKind.MIXED_VERSIONS,
        WarningKind.MIXED_SETTINGS,
    }


def test_runs_of_one_scenario_on_other_files_are_named() -> None:
    evidence = _evidence(scenarios=2, replications=2)
    other = pl.when(pl.col("run") == "C02-r1").then(pl.lit("other")).otherwise("data_content")
    mixed = evidence.conditions.with_columns(data_content=other)
    warnings = find_warnings(_with(evidence, conditions=mixed))

    assert _message(warnings, WarningKind.MIXED_DATA).endswith("different data: C2.")


def test_scenarios_that_asked_for_the_same_data_and_had_other_files_are_named() -> None:
    evidence = _evidence(scenarios=3, replications=2)
    other = pl.when(pl.col("scenario") == "C2").then(pl.lit("other")).otherwise("data_content")
    unequal = evidence.conditions.with_columns(data_content=other)
    apart = unequal.with_columns(data_asked="scenario")

    assert _message(
        find_warnings(_with(evidence, conditions=unequal)), WarningKind.UNEQUAL_DATA
    ).startswith("3 scenarios asked for the same data")
    assert WarningKind.UNEQUAL_DATA not in _kinds(_with(evidence, conditions=apart))


def test_generated_images_beside_real_ones_are_unequal_data() -> None:
    evidence = _evidence(scenarios=2, replications=2)
    first = pl.col("scenario") == "C1"
    partly = evidence.conditions.with_columns(
        data_source=pl.when(first).then(pl.lit("generated")).otherwise("data_source"),
        data_content=pl.when(~first).then("data_content"),
    )

    assert "C1, C2" in _message(
        find_warnings(_with(evidence, conditions=partly)), WarningKind.UNEQUAL_DATA
    )


def test_every_warning_can_be_told_in_another_language() -> None:
    assert set(CHECKS) == set(WarningKind)
    found = find_warnings(_evidence(scenarios=2, replications=1, samples=2))
    for kind, message in found.items():
        assert isinstance(message, Message)
        assert isinstance(kind.advice, Message)
        assert str(kind.advice) == kind.value.advice


def test_imported_runs_are_not_missed_by_the_sampler() -> None:
    evidence = _evidence()
    imported = evidence.conditions.with_columns(imported=pl.lit(True), samples=pl.lit(None))

    assert WarningKind.NO_SAMPLES not in _kinds(_with(evidence, conditions=imported))


def test_networks_that_nobody_proved_equal_are_named() -> None:
    evidence = _with(_evidence(), unproven=[(Architecture("rede1", 32, 3, 10), ("jax", "pytorch"))])

    assert _message(find_warnings(evidence), WarningKind.UNPROVEN).endswith(
        "same network: rede1 at 32 pixels (jax / pytorch)."
    )


def test_time_stolen_by_the_host_is_noise() -> None:
    evidence = _evidence()
    stolen = evidence.conditions.with_columns(steal_percent_mean=pl.lit(7.5))

    assert "the host took 7.5 %" in _message(
        find_warnings(_with(evidence, conditions=stolen)), WarningKind.NOISY_MACHINE
    )


def test_other_programs_on_the_machine_are_noise() -> None:
    evidence = _evidence()
    busy = evidence.conditions.with_columns(
        cpu_percent_mean=pl.lit(80.0), tree_cpu_percent_mean=pl.lit(400.0)
    )
    own = busy.with_columns(tree_cpu_percent_mean=pl.lit(620.0))

    assert "other programs used 30 %" in _message(
        find_warnings(_with(evidence, conditions=busy)), WarningKind.NOISY_MACHINE
    )
    assert WarningKind.NOISY_MACHINE not in _kinds(_with(evidence, conditions=own))


def test_the_advice_on_noise_says_what_helps_on_a_shared_machine() -> None:
    assert "`measure.threads`" in WarningKind.NOISY_MACHINE.value.advice


def test_machines_may_differ_between_levels_of_a_machine_factor_only() -> None:
    evidence = _evidence(scenarios=2)
    first = pl.col("run").str.starts_with("C01")
    machine = pl.when(first).then(pl.lit("left")).otherwise(pl.lit("right"))
    mixed = evidence.conditions.with_columns(machine=machine)
    apart = mixed.with_columns(machine_level=machine)

    assert WarningKind.SEVERAL_MACHINES in _kinds(_with(evidence, conditions=mixed))
    assert WarningKind.SEVERAL_MACHINES not in _kinds(_with(evidence, conditions=apart))


def test_labels_of_one_computer_are_no_machines_unless_the_device_differs() -> None:
    evidence = _evidence(scenarios=2)
    number = pl.col("run").str.slice(0, 3)
    shared = evidence.conditions.with_columns(machine_level=number)
    devices = shared.with_columns(device=number)
    unknown = shared.with_columns(device=pl.lit(None, pl.String))

    assert _message(
        find_warnings(_with(evidence, conditions=shared)), WarningKind.SAME_COMPUTER
    ).startswith("C01, C02 were measured on the same computer (bench-1)")
    assert WarningKind.SAME_COMPUTER not in _kinds(_with(evidence, conditions=devices))
    assert WarningKind.SAME_COMPUTER not in _kinds(_with(evidence, conditions=unknown))


def test_only_the_machines_within_one_level_are_said_to_be_mixed() -> None:
    evidence = _evidence(scenarios=3)
    number = pl.col("run").str.slice(0, 3)
    level = pl.when(number == "C03").then(pl.lit("cloud")).otherwise(pl.lit("lab"))
    mixed = evidence.conditions.with_columns(machine=number, machine_level=level)

    assert _message(
        find_warnings(_with(evidence, conditions=mixed)), WarningKind.SEVERAL_MACHINES
    ).endswith("2 machines are mixed: C01; C02.")


def test_losses_that_do_not_fall_and_swapping_are_told_with_their_runs() -> None:
    evidence = _evidence(scenarios=2, replications=1)
    first = pl.col("run") == "C01-r1"
    flags = pl.when(first).then(["flat_loss", "swap_used"]).otherwise(["rising_loss"])
    warnings = find_warnings(
        _with(evidence, conditions=evidence.conditions.with_columns(anomalies=flags))
    )

    assert _message(warnings, WarningKind.ODD_LOSS) == (
        "The loss did not change in 1 run (C01-r1); rose in 1 run (C02-r1)."
    )
    assert _message(warnings, WarningKind.SWAP_USED).endswith("1 run: C01-r1.")


def test_broken_and_unfinished_runs_come_first() -> None:
    evidence = _with(_evidence(replications=1), unreadable=["C09-r1"], unfinished=["C08-r1"])
    kinds = [*find_warnings(evidence)]

    assert kinds[:2] == [WarningKind.UNREADABLE, WarningKind.UNFINISHED]


def test_without_a_finished_run_only_the_folder_is_warned_about() -> None:
    evidence = _evidence()
    failed = evidence.runs.with_columns(verdict=pl.lit("crashed"))

    assert not find_warnings(_with(evidence, runs=failed, metric=None))


def _evidence(
    *,
    seed: int = 1,
    scenarios: int = 3,
    replications: int = 5,
    noise: float = 0.02,
    drift: float = 0.0,
    samples: int = 30,
    sampler_cpu_seconds: float = 0.01,
    data_source: str = "/data/mnist",
) -> Evidence:
    runs = _runs(seed, scenarios, replications, noise, drift)
    conditions = runs.select(
        "run",
        "scenario",
        "wall_seconds",
        machine=pl.lit("bench-1"),
        machine_level=pl.lit(""),
        cores=pl.lit(8),
        clock_step_seconds=pl.lit(1e-7),
        device=pl.lit("cpu"),
        threads=pl.lit(8),
        settings=pl.lit("{}"),
        versions=pl.lit("torch 2.4"),
        cpu_percent_mean=pl.lit(90.0),
        tree_cpu_percent_mean=pl.lit(712.0),
        steal_percent_mean=pl.lit(0.1),
        data_asked=pl.lit("mnist"),
        data_source=pl.lit(data_source),
        data_content=pl.lit("6463447065ef1a8d"),
        imported=pl.lit(False),
        samples=pl.lit(samples),
        sampler_cpu_seconds=pl.lit(sampler_cpu_seconds),
        anomalies=pl.lit([], pl.List(pl.String)),
    )
    return Evidence(runs, conditions, "train_seconds", 0.95)


def _runs(
    seed: int, scenarios: int, replications: int, noise: float, drift: float = 0.0
) -> pl.DataFrame:
    """Interleaved rounds of scenarios that differ, with relative noise of equal size."""
    source = np.random.default_rng(seed)
    total = scenarios * replications
    rounds = [source.permutation(scenarios) + 1 for _ in range(replications)]
    number, replication = np.concatenate(rounds), np.repeat(np.arange(replications) + 1, scenarios)
    trend = 1 + drift * np.arange(total) / total
    return pl.DataFrame(
        {
            "run": [f"C{n:02d}-r{r}" for n, r in zip(number, replication, strict=True)],
            "scenario": [f"C{n}" for n in number],
            "verdict": "finished",
            "wall_seconds": 10.0 + 1e-4 * source.random(total),
            "order": np.arange(total) + 1,
            "train_seconds": 10 * number * trend * np.exp(source.normal(0, noise, total)),
        }
    ).sort("run")


def _with(evidence: Evidence, **changes: Any) -> Evidence:
    return Evidence(**{**vars(evidence), **changes})


def _kinds(evidence: Evidence) -> set[WarningKind]:
    return set(find_warnings(evidence))


def _message(warnings: dict[WarningKind, Message], kind: WarningKind) -> str:
    return str(warnings[kind])
