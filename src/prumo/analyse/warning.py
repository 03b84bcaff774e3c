"""What a reader must know before believing a table: every warning, with advice that fits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING

import polars as pl

from prumo.analyse.drift import drift_over_order
from prumo.analyse.interval import relative_half_width_percent
from prumo.analyse.outlier import grubbs_p_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Ours, at the 10 % of the mean where pyperf calls a standard deviation unstable.
WIDE_HALF_WIDTH_PERCENT = 10.0
# The chance of any false alarm in a whole study, shared among its scenarios (Bonferroni).
OUTLIER_P_VALUE = 0.01
# Below five values Grubbs' test mostly tells that two of them happen to be close.
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
NAMES_SHOWN = 8


class WarningKind(StrEnum):
    """Every warning there is; the value is the advice."""

    UNREADABLE = (
        "Look at the files; remove the folder of a broken run and `prumo run` repeats that run."
    )
    UNFINISHED = "Let the study end, or run `prumo run` again: finished runs are kept."
    FEW_RUNS = (
        "Raise `replications` in the study and run it again: finished runs are kept. "
        "Two runs give an interval, five or more a useful one."
    )
    WIDE_INTERVAL = (
        "Do not rank scenarios that are closer than their intervals. More replications narrow "
        "them: four times the runs, half the width."
    )
    OUTLIERS = (
        "They are kept and shown. Look for what else the machine did then, prefer the median when "
        "it tells another story than the mean, and repeat the study on a quiet machine."
    )
    DRIFT = (
        "The machine changed while the study ran: heat, frequency limits or other load. Let it "
        "settle first, keep `order: interleaved`, and repeat the study."
    )
    SAMPLER_COSTLY = "Raise `measure.sample_seconds`: the sampler took part of what it measured."
    FEW_SAMPLES = (
        "Lower `measure.sample_seconds` or make runs longer before reading CPU, memory, GPU and "
        "energy figures. Times are not affected."
    )
    GENERATED_DATA = (
        "Times, throughput and memory hold for data of this shape. Loss and accuracy say nothing "
        "about the real task: name a folder under `workload.data` to train on real images."
    )
    NOISY_MACHINE = (
        "Stop other programs, or use a machine of your own, and repeat the runs; on a rented "
        "machine choose a type that does not share its processors."
    )
    SEVERAL_MACHINES = (
        "Differences between scenarios may be differences between machines. Make `machine` a "
        "factor of the study, or compare only runs of one machine."
    )


@dataclass(frozen=True)
class ResultWarning:
    """One warning about these results."""

    kind: WarningKind
    message: str

    @property
    def name(self) -> str:
        """The warning's name for programs, such as `wide_interval`."""
        return self.kind.name.lower()

    @property
    def advice(self) -> str:
        """What to do about it."""
        return self.kind.value


@dataclass(frozen=True)
class Evidence:
    """What the warnings are found in."""

    runs: pl.DataFrame
    conditions: pl.DataFrame
    """Per run: machine, machine_level, data_source, cores, samples, sampler_cpu_seconds."""
    metric: str | None
    confidence: float
    unreadable: Sequence[str] = ()
    unfinished: Sequence[str] = ()

    @property
    def finished(self) -> pl.DataFrame:
        """The runs whose figures hold, with their conditions."""
        table = self.runs.join(self.conditions, on="run", how="left", maintain_order="left")
        return table.filter(pl.col("verdict") == "finished")

    def values_by_scenario(self) -> Iterator[tuple[str, list[float]]]:
        """The main metric's values in each scenario."""
        if self.metric is None:
            return
        known = self.finished.filter(pl.col(self.metric).is_not_null())
        for (scenario,), group in known.group_by("scenario", maintain_order=True):
            yield str(scenario), group[self.metric].to_list()


def find_warnings(evidence: Evidence) -> list[ResultWarning]:
    """Every warning that these results call for, the gravest first."""
    return [
        ResultWarning(kind, message)
        for kind, check in CHECKS.items()
        if (message := check(evidence)) is not None
    ]


def _unreadable(evidence: Evidence) -> str | None:
    if not evidence.unreadable:
        return None
    count = _count(len(evidence.unreadable), "run folder")
    return f"{count} could not be read and is not in any figure: {_names(evidence.unreadable)}."


def _unfinished(evidence: Evidence) -> str | None:
    if not evidence.unfinished:
        return None
    count = _count(len(evidence.unfinished), "run")
    return f"{count} began and did not end yet, or was stopped: {_names(evidence.unfinished)}."


def _few_runs(evidence: Evidence) -> str | None:
    single = [name for name, values in evidence.values_by_scenario() if len(values) == 1]
    if not single:
        return None
    return (
        f"A single finished run in {_count(len(single), 'scenario')}, so no interval can be given: "
        f"{_names(single)}."
    )


def _wide_interval(evidence: Evidence) -> str | None:
    wide = [
        f"{name} (±{width:.0f} %)"
        for name, values in evidence.values_by_scenario()
        if (width := relative_half_width_percent(values, evidence.confidence)) is not None
        and width > WIDE_HALF_WIDTH_PERCENT
    ]
    if not wide:
        return None
    return (
        f"The interval is wider than ±{WIDE_HALF_WIDTH_PERCENT:.0f} % of the mean in "
        f"{_count(len(wide), 'scenario')}: {_names(wide)}."
    )


def _outliers(evidence: Evidence) -> str | None:
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
    if not found:
        return None
    return (
        f"One run stands far from its replications in {_count(len(found), 'scenario')}: "
        f"{_names(found)}."
    )


def _drift(evidence: Evidence) -> str | None:
    if evidence.metric is None:
        return None
    drift = drift_over_order(evidence.finished, evidence.metric)
    if drift is None or drift.p_value >= DRIFT_P_VALUE:
        return None
    return (
        f"{evidence.metric} changed with the order of the runs: about "
        f"{drift.change_percent:+.1f} % from the first to the last."
    )


def _sampler_costly(evidence: Evidence) -> str | None:
    share = 100 * pl.col("sampler_cpu_seconds") / pl.col("wall_seconds")
    costly = evidence.finished.filter(share > SAMPLER_CPU_PERCENT)
    if costly.is_empty():
        return None
    worst = costly.select(share.max()).item()
    return (
        f"The sampler used more than {SAMPLER_CPU_PERCENT:.0f} % of one core in "
        f"{_count(costly.height, 'run')}, {worst:.1f} % at worst."
    )


def _few_samples(evidence: Evidence) -> str | None:
    few = evidence.finished.filter(pl.col("samples") < FEWEST_SAMPLES)
    if few.is_empty():
        return None
    return f"Fewer than {FEWEST_SAMPLES} samples were taken in {_count(few.height, 'run')}."


def _generated_data(evidence: Evidence) -> str | None:
    generated = evidence.finished.filter(pl.col("data_source") == "generated")
    if generated.is_empty():
        return None
    return f"Generated data, not real images, in {_count(generated.height, 'run')}."


def _noisy_machine(evidence: Evidence) -> str | None:
    finished = evidence.finished
    found = []
    if "steal_percent_mean" in finished.columns:
        stolen = finished.filter(pl.col("steal_percent_mean") > STEAL_PERCENT)
        if stolen.height:
            worst = stolen.select(pl.col("steal_percent_mean").max()).item()
            found.append(
                f"the host took {worst:.1f} % of the processors at worst, more than "
                f"{STEAL_PERCENT:.0f} % in {_count(stolen.height, 'run')}"
            )
    if {"cpu_percent_mean", "tree_cpu_percent_mean"} <= set(finished.columns):
        others = pl.col("cpu_percent_mean") - pl.col("tree_cpu_percent_mean") / pl.col("cores")
        disturbed = finished.filter(others > OTHERS_CPU_PERCENT)
        if disturbed.height:
            worst = disturbed.select(others.max()).item()
            found.append(
                f"other programs used {worst:.0f} % of the processors at worst, more than "
                f"{OTHERS_CPU_PERCENT:.0f} % in {_count(disturbed.height, 'run')}"
            )
    return f"The machine was not quiet: {'; '.join(found)}." if found else None


def _several_machines(evidence: Evidence) -> str | None:
    known = evidence.finished.filter(pl.col("machine").is_not_null())
    # Machines may differ between the levels of a machine factor: that is what it is for.
    mixed = (
        known.group_by("machine_level")
        .agg(pl.col("machine").n_unique())
        .filter(pl.col("machine") > 1)
    )
    if mixed.is_empty():
        return None
    machines = sorted(known["machine"].unique())
    return f"Runs from {len(machines)} machines are mixed: {_names(machines)}."


CHECKS: dict[WarningKind, Callable[[Evidence], str | None]] = {
    WarningKind.UNREADABLE: _unreadable,
    WarningKind.UNFINISHED: _unfinished,
    WarningKind.SEVERAL_MACHINES: _several_machines,
    WarningKind.DRIFT: _drift,
    WarningKind.NOISY_MACHINE: _noisy_machine,
    WarningKind.FEW_RUNS: _few_runs,
    WarningKind.WIDE_INTERVAL: _wide_interval,
    WarningKind.OUTLIERS: _outliers,
    WarningKind.GENERATED_DATA: _generated_data,
    WarningKind.SAMPLER_COSTLY: _sampler_costly,
    WarningKind.FEW_SAMPLES: _few_samples,
}


def _farthest_percent(values: list[float]) -> float:
    middle = median(values)
    if middle == 0:
        return 0.0
    return 100 * max(abs(value - middle) for value in values) / abs(middle)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN])
    left = len(names) - NAMES_SHOWN
    return f"{shown} and {left} more" if left > 0 else shown
