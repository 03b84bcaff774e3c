"""Which warnings of the catalogue results call for, from their runs and how these ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

import polars as pl

from prumo.message import Series, counted, listed
from prumo.quantity import Quantity
from prumo.report.warnings import ResultWarning, WarningKind
from prumo.statistics.equality import same_computers
from prumo.statistics.outliers import coarse_times, drift_over_order, grubbs_p_value
from prumo.statistics.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prumo.message import Message
    from prumo.results.record import Spread
    from prumo.statistics.equality import SameComputer
    from prumo.study.network import Architecture

    Unproven = Sequence[tuple[Architecture, Sequence[str]]]

# Ours, at the 10 % of the mean where pyperf calls a standard deviation unstable.
WIDE_HALF_WIDTH_PERCENT = 10.0
# The chance of any false alarm in a whole study, shared among its scenarios (Bonferroni).
OUTLIER_P_VALUE = 0.01
# Below five values Grubbs' test mostly shows that two of them happen to be close.
OUTLIER_MINIMUM_RUNS = 5
# A run within 5 % of its scenario's median changes no decision, however rare it is.
OUTLIER_MINIMUM_PERCENT = 5.0
DRIFT_P_VALUE = 0.001
# Ours: well below the run-to-run noise of a quiet machine.
SAMPLER_CPU_PERCENT = 1.0
# Ours: a mean over fewer samples says little about a run.
FEWEST_SAMPLES = 5
# Ours: a guest that waits for its host this often is slower by about as much.
STEAL_PERCENT = 1.0
OTHERS_CPU_PERCENT = 10.0


@dataclass(frozen=True)
class Evidence:
    """What is known of a study's runs.

    Runs and conditions stay two tables: a user's factor may be called as a condition is.
    """

    runs: pl.DataFrame
    conditions: pl.DataFrame
    """A row per run: machine, versions, data, noise, sampler."""
    metric: str | None
    confidence: float
    unreadable: Sequence[str] = ()
    unfinished: Sequence[str] = ()
    spreads: Mapping[str, Mapping[str, Spread]] = field(default_factory=dict)
    """Scenario → metric → what was published of its spread, where a run is a summary."""
    unproven: Unproven = ()
    """Networks that several frameworks trained and no check found equal, with the frameworks."""

    @property
    def finished(self) -> pl.DataFrame:
        """The runs whose figures hold."""
        return self.runs.filter(pl.col("verdict") == "finished")

    @property
    def finished_conditions(self) -> pl.DataFrame:
        """The conditions of the runs whose figures hold."""
        return self.conditions.join(self.finished.select("run"), on="run", how="semi")

    def is_summary(self, scenario: str) -> bool:
        """Whether a scenario's run is a published mean that was given with its spread."""
        spread = self.spreads.get(scenario, {}).get(self.metric or "")
        return spread is not None and spread.gives_interval

    def values_by_scenario(self) -> Iterator[tuple[str, list[float]]]:
        """The main metric's values in each scenario."""
        if self.metric is None:
            return
        known = self.finished.drop_nulls(self.metric)
        groups = known.group_by("scenario", maintain_order=True).agg(self.metric)
        yield from groups.iter_rows()


def find_warnings(evidence: Evidence) -> list[ResultWarning]:
    """Every warning that these results call for, the gravest first."""
    return [
        ResultWarning(kind, message)
        for kind in WarningKind
        if (message := CHECKS[kind](evidence)) is not None
    ]


def unreadable_message(folders: Sequence[str]) -> Message:
    """Which run folders are in no figure."""
    return WarningKind.UNREADABLE.message(count=len(folders), names=listed(folders))


def unproven_message(networks: Unproven) -> Message:
    """Which networks were not proven equal in the frameworks that trained them."""
    named = [
        WarningKind.UNPROVEN.part(
            "network",
            network=architecture.network,
            size=architecture.image_size,
            frameworks=" / ".join(frameworks),
        )
        for architecture, frameworks in networks
    ]
    return WarningKind.UNPROVEN.message(names=listed(named))


def same_computer_message(shared: SameComputer) -> Message:
    """Which machines cannot be compared, and why."""
    # The name of a computer has commas of its own.
    computer = Series(shared.computers, "; ")
    return WarningKind.SAME_COMPUTER.part(
        "machines", labels=listed(shared.labels), computer=computer
    )


def coarse_clock(evidence: Evidence) -> Message | None:
    """Times of which the clock's step is a part that counts."""
    steps = evidence.finished_conditions.select("run", step="clock_step_seconds").drop_nulls()
    kind = WarningKind.CLOCK_RESOLUTION
    found = [
        kind.part("machine", metric=time.metric, times=100 / time.percent)
        if time.step_seconds is None
        else kind.part(
            "steps",
            metric=time.metric,
            step=Quantity(time.step_seconds, "s"),
            percent=time.percent,
        )
        for time in coarse_times(evidence.finished, steps, evidence.metric)
    ]
    return kind.message(findings=listed(found)) if found else None


def _unreadable(evidence: Evidence) -> Message | None:
    return unreadable_message(evidence.unreadable) if evidence.unreadable else None


def _unfinished(evidence: Evidence) -> Message | None:
    names = evidence.unfinished
    if not names:
        return None
    return WarningKind.UNFINISHED.message(count=len(names), names=listed(names))


def _unproven(evidence: Evidence) -> Message | None:
    return unproven_message(evidence.unproven) if evidence.unproven else None


def _several_machines(evidence: Evidence) -> Message | None:
    known = evidence.finished_conditions.filter(pl.col("machine").is_not_null())
    # Machines may differ between the levels of a machine factor: that is what it is for.
    mixed = (
        known.group_by("machine_level")
        .agg(pl.col("machine").n_unique())
        .filter(pl.col("machine") > 1)
    )
    if mixed.is_empty():
        return None
    machines = sorted(known.join(mixed, on="machine_level", how="semi")["machine"].unique())
    # The name of a machine has commas of its own.
    names = Series(tuple(machines), "; ")
    return WarningKind.SEVERAL_MACHINES.message(total=len(machines), names=names)


def _same_computer(evidence: Evidence) -> Message | None:
    found = [same_computer_message(one) for one in same_computers(evidence.finished_conditions)]
    if not found:
        return None
    return WarningKind.SAME_COMPUTER.message(findings=Series(tuple(found), " "))


def _mixed_versions(evidence: Evidence) -> Message | None:
    mixed = _scenarios_with_several(evidence, "versions")
    named = [f"{name} ({' / '.join(values)})" for name, values in mixed.items()]
    return _about_scenarios(WarningKind.MIXED_VERSIONS, named)


def _mixed_settings(evidence: Evidence) -> Message | None:
    """Runs of one scenario on another device, with other threads or measured in another way."""
    differences: dict[str, list[str]] = {}
    for column in ("device", "threads", "settings"):
        for name in _scenarios_with_several(evidence, column):
            differences.setdefault(name, []).append(column)
    named = [f"{name} ({', '.join(columns)})" for name, columns in differences.items()]
    return _about_scenarios(WarningKind.MIXED_SETTINGS, named)


def _mixed_data(evidence: Evidence) -> Message | None:
    mixed = _scenarios_with_several(evidence, "data_content")
    return _about_scenarios(WarningKind.MIXED_DATA, list(mixed))


def _unequal_data(evidence: Evidence) -> Message | None:
    """Scenarios that asked for the same data and were trained on other files, or on none."""
    is_generated = pl.col("data_source") == "generated"
    trained_on = pl.when(is_generated).then(pl.lit("generated")).otherwise("data_content")
    unequal = (
        evidence.finished_conditions.select("scenario", "data_asked", trained_on=trained_on)
        .drop_nulls()
        # Where the runs of one scenario differ already, that is said by itself.
        .filter(pl.col("trained_on").n_unique().over("scenario") == 1)
        .filter(pl.col("trained_on").n_unique().over("data_asked") > 1)
        .unique("scenario", maintain_order=True)
    )
    return _about_scenarios(WarningKind.UNEQUAL_DATA, unequal["scenario"].to_list())


def _drift(evidence: Evidence) -> Message | None:
    if evidence.metric is None:
        return None
    # The rows of a published table stand in no order of time.
    imported = evidence.conditions.filter("imported")
    measured = evidence.finished.join(imported, on="run", how="anti")
    drift = drift_over_order(measured, evidence.metric)
    if drift is None or drift.p_value >= DRIFT_P_VALUE:
        return None
    return WarningKind.DRIFT.message(metric=evidence.metric, change=drift.change_percent)


def _swap_used(evidence: Evidence) -> Message | None:
    swapping = _runs_with(evidence, "swap_used")
    return WarningKind.SWAP_USED.message(**_runs_named(swapping)) if swapping else None


def _noisy_machine(evidence: Evidence) -> Message | None:
    """Time that a host or other programs took."""
    others = pl.col("cpu_percent_mean") - pl.col("tree_cpu_percent_mean") / pl.col("cores")
    found = []
    for part, taken, limit in (
        ("stolen", pl.col("steal_percent_mean"), STEAL_PERCENT),
        ("others", others, OTHERS_CPU_PERCENT),
    ):
        disturbed = evidence.finished_conditions.filter(taken > limit)
        if disturbed.height:
            worst = disturbed.select(taken.max()).item()
            runs = counted(disturbed.height, "run")
            found.append(WarningKind.NOISY_MACHINE.part(part, worst=worst, limit=limit, runs=runs))
    if not found:
        return None
    return WarningKind.NOISY_MACHINE.message(findings=Series(tuple(found), "; "))


def _few_runs(evidence: Evidence) -> Message | None:
    single = [
        name
        for name, values in evidence.values_by_scenario()
        if len(values) == 1 and not evidence.is_summary(name)
    ]
    return _about_scenarios(WarningKind.FEW_RUNS, single)


def _wide_interval(evidence: Evidence) -> Message | None:
    if evidence.metric is None:
        return None
    summary = summarise(
        evidence.runs, (), [evidence.metric], evidence.confidence, evidence.spreads
    ).filter(pl.col("mean") != 0)
    percent = 100 * (pl.col("ci_high") - pl.col("mean")) / pl.col("mean").abs()
    wide = [
        WarningKind.WIDE_INTERVAL.part("scenario", scenario=name, width=width)
        for name, width in summary.select("scenario", percent).rows()
        if width is not None and width > WIDE_HALF_WIDTH_PERCENT
    ]
    return _about_scenarios(WarningKind.WIDE_INTERVAL, wide, limit=WIDE_HALF_WIDTH_PERCENT)


def _outliers(evidence: Evidence) -> Message | None:
    groups = [
        (name, values)
        for name, values in evidence.values_by_scenario()
        if len(values) >= OUTLIER_MINIMUM_RUNS
    ]
    found = [
        name
        for name, values in groups
        if grubbs_p_value(values) < OUTLIER_P_VALUE / len(groups)
        and _farthest_percent(values) > OUTLIER_MINIMUM_PERCENT
    ]
    return _about_scenarios(WarningKind.OUTLIERS, found)


def _odd_loss(evidence: Evidence) -> Message | None:
    found = [
        WarningKind.ODD_LOSS.part(part, **_runs_named(runs))
        for part, anomaly in (("flat", "flat_loss"), ("rising", "rising_loss"))
        if (runs := _runs_with(evidence, anomaly))
    ]
    return WarningKind.ODD_LOSS.message(findings=Series(tuple(found), "; ")) if found else None


def _generated_data(evidence: Evidence) -> Message | None:
    generated = evidence.finished_conditions.filter(pl.col("data_source") == "generated")
    if generated.is_empty():
        return None
    return WarningKind.GENERATED_DATA.message(runs=counted(generated.height, "run"))


def _sampler_costly(evidence: Evidence) -> Message | None:
    share = 100 * pl.col("sampler_cpu_seconds") / pl.col("wall_seconds")
    costly = evidence.finished_conditions.filter(share > SAMPLER_CPU_PERCENT)
    if costly.is_empty():
        return None
    return WarningKind.SAMPLER_COSTLY.message(
        limit=SAMPLER_CPU_PERCENT,
        runs=counted(costly.height, "run"),
        worst=costly.select(share.max()).item(),
    )


def _no_samples(evidence: Evidence) -> Message | None:
    """Runs whose sampler took nothing, or died and left no account of what it took."""
    # An imported run had no sampler that could fail.
    measured = evidence.finished_conditions.filter(~pl.col("imported"))
    unsampled = measured.filter(pl.col("samples").fill_null(0) == 0)
    if unsampled.is_empty():
        return None
    return WarningKind.NO_SAMPLES.message(**_runs_named(unsampled["run"].to_list()))


def _few_samples(evidence: Evidence) -> Message | None:
    few = evidence.finished_conditions.filter(pl.col("samples").is_between(1, FEWEST_SAMPLES - 1))
    if few.is_empty():
        return None
    return WarningKind.FEW_SAMPLES.message(least=FEWEST_SAMPLES, runs=counted(few.height, "run"))


CHECKS: dict[WarningKind, Callable[[Evidence], Message | None]] = {
    WarningKind.UNREADABLE: _unreadable,
    WarningKind.UNFINISHED: _unfinished,
    WarningKind.UNPROVEN: _unproven,
    WarningKind.SEVERAL_MACHINES: _several_machines,
    WarningKind.SAME_COMPUTER: _same_computer,
    WarningKind.MIXED_VERSIONS: _mixed_versions,
    WarningKind.MIXED_SETTINGS: _mixed_settings,
    WarningKind.MIXED_DATA: _mixed_data,
    WarningKind.UNEQUAL_DATA: _unequal_data,
    WarningKind.DRIFT: _drift,
    WarningKind.SWAP_USED: _swap_used,
    WarningKind.NOISY_MACHINE: _noisy_machine,
    WarningKind.FEW_RUNS: _few_runs,
    WarningKind.WIDE_INTERVAL: _wide_interval,
    WarningKind.OUTLIERS: _outliers,
    WarningKind.CLOCK_RESOLUTION: coarse_clock,
    WarningKind.ODD_LOSS: _odd_loss,
    WarningKind.GENERATED_DATA: _generated_data,
    WarningKind.SAMPLER_COSTLY: _sampler_costly,
    WarningKind.NO_SAMPLES: _no_samples,
    WarningKind.FEW_SAMPLES: _few_samples,
}


def _about_scenarios(
    kind: WarningKind, named: Sequence[object], **values: object
) -> Message | None:
    """A warning about scenarios, where there are any."""
    if not named:
        return None
    return kind.message(scenarios=counted(len(named), "scenario"), names=listed(named), **values)


def _runs_named(runs: Sequence[str]) -> dict[str, object]:
    return {"runs": counted(len(runs), "run"), "names": listed(runs)}


def _runs_with(evidence: Evidence, anomaly: str) -> list[str]:
    conditions = evidence.finished_conditions
    found = conditions.filter(pl.col("anomalies").list.contains(anomaly))
    return [str(name) for name in found["run"]]


def _scenarios_with_several(evidence: Evidence, column: str) -> dict[str, list[str]]:
    """The scenarios whose finished runs differ in a condition, with the values that occur."""
    return {
        str(scenario): [str(value) for value in values]
        for (scenario,), group in evidence.finished_conditions.group_by(
            "scenario", maintain_order=True
        )
        if len(values := group[column].drop_nulls().unique(maintain_order=True)) > 1
    }


def _farthest_percent(values: list[float]) -> float:
    middle = median(values)
    if middle == 0:
        return 0.0
    return 100 * max(abs(value - middle) for value in values) / abs(middle)
