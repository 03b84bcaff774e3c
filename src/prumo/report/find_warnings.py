"""Which warnings of the catalogue results call for, from their runs and how these ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

import polars as pl

from prumo.message import Series, counted, listed
from prumo.quantity import Quantity
from prumo.report.warnings import WarningKind
from prumo.statistics.equality import same_computers
from prumo.statistics.outliers import coarse_times, drift_over_order, grubbs_p_value
from prumo.statistics.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from prumo.message import Message
    from prumo.results.record import Spread
    from prumo.statistics.equality import SameComputer
    from prumo.study.network import Architecture

    Unproven = Sequence[tuple[Architecture, Sequence[str]]]
    Values = dict[str, object]

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


def find_warnings(evidence: Evidence) -> dict[WarningKind, Message]:
    """Every warning that these results call for, the gravest first."""
    found = {kind: message_of(kind, evidence) for kind in WarningKind}
    return {kind: message for kind, message in found.items() if message is not None}


def message_of(kind: WarningKind, evidence: Evidence) -> Message | None:
    """What one warning says of these results; None where they do not call for it."""
    values = CHECKS[kind](evidence)
    return kind.message(**values) if values else None


def unreadable_message(folders: Sequence[str]) -> Message:
    """Which run folders are in no figure."""
    return WarningKind.UNREADABLE.message(**_count(folders))


def unproven_message(networks: Unproven) -> Message:
    """Which networks were not proven equal in the frameworks that trained them."""
    return WarningKind.UNPROVEN.message(**_unproven(networks))


def same_computer_message(shared: SameComputer) -> Message:
    """Which machines cannot be compared, and why."""
    # The name of a computer has commas of its own.
    computer = Series(shared.computers, "; ")
    return WarningKind.SAME_COMPUTER.part(
        "machines", labels=listed(shared.labels), computer=computer
    )


def _count(names: Sequence[str]) -> Values:
    return {"count": len(names), "names": listed(names)} if names else {}


def _unproven(networks: Unproven) -> Values:
    named = [
        WarningKind.UNPROVEN.part(
            "network",
            network=architecture.network,
            size=architecture.image_size,
            frameworks=" / ".join(frameworks),
        )
        for architecture, frameworks in networks
    ]
    return {"names": listed(named)} if named else {}


def _coarse_clock(evidence: Evidence) -> Values:
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
    return {"findings": listed(found)} if found else {}


def _several_machines(evidence: Evidence) -> Values:
    known = evidence.finished_conditions.filter(pl.col("machine").is_not_null())
    # Machines may differ between the levels of a machine factor: that is what it is for.
    mixed = known.filter(pl.col("machine").n_unique().over("machine_level") > 1)
    machines = sorted(mixed["machine"].unique())
    # The name of a machine has commas of its own.
    return {"total": len(machines), "names": Series(tuple(machines), "; ")} if machines else {}


def _same_computer(evidence: Evidence) -> Values:
    return _findings(map(same_computer_message, same_computers(evidence.finished_conditions)), " ")


def _mixed_versions(evidence: Evidence) -> Values:
    mixed = _scenarios_with_several(evidence, "versions")
    return _scenarios([f"{name} ({' / '.join(values)})" for name, values in mixed.items()])


def _mixed_settings(evidence: Evidence) -> Values:
    """Runs of one scenario on another device, with other threads or measured in another way."""
    differences: dict[str, list[str]] = {}
    for column in ("device", "threads", "settings"):
        for name in _scenarios_with_several(evidence, column):
            differences.setdefault(name, []).append(column)
    return _scenarios([f"{name} ({', '.join(columns)})" for name, columns in differences.items()])


def _unequal_data(evidence: Evidence) -> Values:
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
    return _scenarios(unequal["scenario"].to_list())


def _drift(evidence: Evidence) -> Values:
    if evidence.metric is None:
        return {}
    # The rows of a published table stand in no order of time.
    imported = evidence.conditions.filter("imported")
    measured = evidence.finished.join(imported, on="run", how="anti")
    drift = drift_over_order(measured, evidence.metric)
    if drift is None or drift.p_value >= DRIFT_P_VALUE:
        return {}
    return {"metric": evidence.metric, "change": drift.change_percent}


def _noisy_machine(evidence: Evidence) -> Values:
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
    return _findings(found, "; ")


def _few_runs(evidence: Evidence) -> Values:
    groups = evidence.values_by_scenario()
    single = [name for name, values in groups if len(values) == 1 and not evidence.is_summary(name)]
    return _scenarios(single)


def _wide_interval(evidence: Evidence) -> Values:
    if evidence.metric is None:
        return {}
    summary = summarise(
        evidence.runs, (), [evidence.metric], evidence.confidence, evidence.spreads
    ).filter(pl.col("mean") != 0)
    percent = 100 * (pl.col("ci_high") - pl.col("mean")) / pl.col("mean").abs()
    wide = [
        WarningKind.WIDE_INTERVAL.part("scenario", scenario=name, width=width)
        for name, width in summary.select("scenario", percent).rows()
        if width is not None and width > WIDE_HALF_WIDTH_PERCENT
    ]
    return _scenarios(wide, limit=WIDE_HALF_WIDTH_PERCENT)


def _outliers(evidence: Evidence) -> Values:
    groups = [
        group for group in evidence.values_by_scenario() if len(group[1]) >= OUTLIER_MINIMUM_RUNS
    ]
    found = [
        name
        for name, values in groups
        if grubbs_p_value(values) < OUTLIER_P_VALUE / len(groups)
        and _farthest_percent(values) > OUTLIER_MINIMUM_PERCENT
    ]
    return _scenarios(found)


def _odd_loss(evidence: Evidence) -> Values:
    found = [
        WarningKind.ODD_LOSS.part(part, **values)
        for part in ("flat", "rising")
        if (values := _runs(_with_anomaly(evidence, f"{part}_loss")))
    ]
    return _findings(found, "; ")


def _sampler_costly(evidence: Evidence) -> Values:
    share = 100 * pl.col("sampler_cpu_seconds") / pl.col("wall_seconds")
    costly = evidence.finished_conditions.filter(share > SAMPLER_CPU_PERCENT)
    worst = costly.select(share.max()).item()
    return _runs(costly, limit=SAMPLER_CPU_PERCENT, worst=worst)


def _no_samples(evidence: Evidence) -> Values:
    """Runs whose sampler took nothing, or died and left no account of what it took."""
    # An imported run had no sampler that could fail.
    measured = evidence.finished_conditions.filter(~pl.col("imported"))
    return _runs(measured.filter(pl.col("samples").fill_null(0) == 0))


def _few_samples(evidence: Evidence) -> Values:
    few = evidence.finished_conditions.filter(pl.col("samples").is_between(1, FEWEST_SAMPLES - 1))
    return _runs(few, least=FEWEST_SAMPLES)


# Each gives the values of its text, or none where the results do not call for it.
CHECKS: dict[WarningKind, Callable[[Evidence], Values]] = {
    WarningKind.UNREADABLE: lambda evidence: _count(evidence.unreadable),
    WarningKind.UNFINISHED: lambda evidence: _count(evidence.unfinished),
    WarningKind.UNPROVEN: lambda evidence: _unproven(evidence.unproven),
    WarningKind.SEVERAL_MACHINES: _several_machines,
    WarningKind.SAME_COMPUTER: _same_computer,
    WarningKind.MIXED_VERSIONS: _mixed_versions,
    WarningKind.MIXED_SETTINGS: _mixed_settings,
    WarningKind.MIXED_DATA: lambda evidence: _scenarios(
        list(_scenarios_with_several(evidence, "data_content"))
    ),
    WarningKind.UNEQUAL_DATA: _unequal_data,
    WarningKind.DRIFT: _drift,
    WarningKind.SWAP_USED: lambda evidence: _runs(_with_anomaly(evidence, "swap_used")),
    WarningKind.NOISY_MACHINE: _noisy_machine,
    WarningKind.FEW_RUNS: _few_runs,
    WarningKind.WIDE_INTERVAL: _wide_interval,
    WarningKind.OUTLIERS: _outliers,
    WarningKind.CLOCK_RESOLUTION: _coarse_clock,
    WarningKind.ODD_LOSS: _odd_loss,
    WarningKind.GENERATED_DATA: lambda evidence: _runs(
        evidence.finished_conditions.filter(pl.col("data_source") == "generated")
    ),
    WarningKind.SAMPLER_COSTLY: _sampler_costly,
    WarningKind.NO_SAMPLES: _no_samples,
    WarningKind.FEW_SAMPLES: _few_samples,
}


def _scenarios(named: Sequence[object], **values: object) -> Values:
    """The values of a warning about scenarios, where there are any."""
    if not named:
        return {}
    return {"scenarios": counted(len(named), "scenario"), "names": listed(named), **values}


def _runs(found: pl.DataFrame, **values: object) -> Values:
    """The values of a warning about runs, where there are any."""
    if found.is_empty():
        return {}
    return {"runs": counted(found.height, "run"), "names": listed(found["run"].to_list()), **values}


def _findings(found: Iterable[Message], separator: str) -> Values:
    parts = tuple(found)
    return {"findings": Series(parts, separator)} if parts else {}


def _with_anomaly(evidence: Evidence, anomaly: str) -> pl.DataFrame:
    return evidence.finished_conditions.filter(pl.col("anomalies").list.contains(anomaly))


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
