"""What a reader must know before believing a table: every warning, with advice that fits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING

import polars as pl

from prumo.message import Message, counted, listed
from prumo.report import run_warnings
from prumo.statistics.outliers import coarse_clock, drift_over_order, grubbs_p_value
from prumo.statistics.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prumo.report.evidence import Evidence


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
    CLOCK_RESOLUTION = (
        "A difference smaller than such a step is not seen, and equal times may be unequal. Time "
        "more work at once (more epochs, more images, larger batches), or take the times from a "
        "finer clock."
    )
    SAMPLER_COSTLY = "Raise `measure.sample_seconds`: the sampler took part of what it measured."
    NO_SAMPLES = (
        "CPU, memory, GPU and energy figures of these runs are missing or stop early; the notes in "
        "their run.json say why. Times are not affected."
    )
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
        "machine choose a type that does not share its processors. A framework that uses all cores "
        "slows down far more than the others take once they compute too: where a machine must be "
        "shared, set `measure.threads` to fewer than its cores."
    )
    ODD_LOSS = (
        "These runs did not learn: their times hold, their losses and accuracies say nothing. "
        "Look at the learning rate, the optimizer and the number of epochs."
    )
    SWAP_USED = (
        "A run that swaps measures the disk. Use smaller batches or images, or a machine with "
        "more memory, and do not compare these times with others."
    )
    SEVERAL_MACHINES = (
        "Differences between scenarios may be differences between machines. Make `machine` a "
        "factor of the study, or compare only runs of one machine."
    )
    SAME_COMPUTER = (
        "Run the part of each machine on that machine (`prumo run --only`) and bring the results "
        "together with `prumo merge`; until then believe no difference between these machines, in "
        "time or in cost."
    )
    MIXED_VERSIONS = (
        "Part of the spread comes from the versions, and the mean is of neither. Name the versions "
        "under `versions` in the study and repeat the runs that were made with others."
    )
    MIXED_DATA = (
        "The files of the data set changed between the runs, and the mean is of neither. Put the "
        "old files back, or repeat the study in a results folder of its own."
    )
    UNEQUAL_DATA = (
        "Differences between these scenarios may be differences between their data. Give all of "
        "them the same files under `workload.data`, and repeat the ones that had others."
    )
    UNPROVEN = (
        "The differences between these frameworks may be differences between networks. "
        "`prumo check` proves them equal, or says what differs."
    )
    MIXED_SETTINGS = (
        "Part of the spread comes from the settings, and the mean is of neither. Keep `measure` "
        "as it is from the first run to the last, and repeat the runs that were made otherwise."
    )


# Ours, at the 10 % of the mean where pyperf calls a standard deviation unstable.
WIDE_HALF_WIDTH_PERCENT = 10.0
# The chance of any false alarm in a whole study, shared among its scenarios (Bonferroni).
OUTLIER_P_VALUE = 0.01
# Below five values Grubbs' test mostly tells that two of them happen to be close.
OUTLIER_MINIMUM_RUNS = 5
# A run within 5 % of its scenario's median changes no decision, however rare it is.
OUTLIER_MINIMUM_PERCENT = 5.0
DRIFT_P_VALUE = 0.001


@dataclass(frozen=True)
class ResultWarning:
    """One warning about these results."""

    kind: WarningKind
    message: Message

    @property
    def name(self) -> str:
        """The warning's name for programs, such as `wide_interval`."""
        return self.kind.name.lower()

    @property
    def advice(self) -> Message:
        """What to do about it."""
        return Message(self.kind.value)


def find_warnings(evidence: Evidence) -> list[ResultWarning]:
    """Every warning that these results call for, the gravest first."""
    return [
        ResultWarning(kind, message)
        for kind, check in CHECKS.items()
        if (message := check(evidence)) is not None
    ]


def unreadable_message(folders: Sequence[str]) -> Message:
    """Which run folders are in no figure."""
    return Message(
        "{count} run folder could not be read and is not in any figure: {names}.",
        {"count": len(folders), "names": listed(folders)},
        "{count} run folders could not be read and are not in any figure: {names}.",
    )


def _unreadable(evidence: Evidence) -> Message | None:
    return unreadable_message(evidence.unreadable) if evidence.unreadable else None


def _unfinished(evidence: Evidence) -> Message | None:
    if not evidence.unfinished:
        return None
    return Message(
        "{count} run began and did not end yet, or was stopped: {names}.",
        {"count": len(evidence.unfinished), "names": listed(evidence.unfinished)},
        "{count} runs began and did not end yet, or were stopped: {names}.",
    )


def _unproven(evidence: Evidence) -> Message | None:
    if not evidence.unproven:
        return None
    return Message(
        "Nothing proves that frameworks train the same network: {names}.",
        {"names": listed(evidence.unproven)},
    )


def _few_runs(evidence: Evidence) -> Message | None:
    single = [
        name
        for name, values in evidence.values_by_scenario()
        if len(values) == 1 and not evidence.is_summary(name)
    ]
    if not single:
        return None
    return Message(
        "A single finished run in {scenarios}, so no interval can be given: {names}.",
        {"scenarios": counted(len(single), "scenario"), "names": listed(single)},
    )


def _wide_interval(evidence: Evidence) -> Message | None:
    if evidence.metric is None:
        return None
    summary = summarise(
        evidence.runs, (), [evidence.metric], evidence.confidence, evidence.spreads
    ).filter(pl.col("mean") != 0)
    percent = 100 * (pl.col("ci_high") - pl.col("mean")) / pl.col("mean").abs()
    wide = [
        Message("{scenario} (±{width:.0f} %)", {"scenario": name, "width": width})
        for name, width in summary.select("scenario", percent).rows()
        if width is not None and width > WIDE_HALF_WIDTH_PERCENT
    ]
    if not wide:
        return None
    return Message(
        "The interval is wider than ±{limit:.0f} % of the mean in {scenarios}: {names}.",
        {
            "limit": WIDE_HALF_WIDTH_PERCENT,
            "scenarios": counted(len(wide), "scenario"),
            "names": listed(wide),
        },
    )


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
    if not found:
        return None
    return Message(
        "One run stands far from its replications in {scenarios}: {names}.",
        {"scenarios": counted(len(found), "scenario"), "names": listed(found)},
    )


def _drift(evidence: Evidence) -> Message | None:
    if evidence.metric is None:
        return None
    # The rows of a published table stand in no order of time.
    imported = evidence.conditions.filter("imported")
    measured = evidence.finished.join(imported, on="run", how="anti")
    drift = drift_over_order(measured, evidence.metric)
    if drift is None or drift.p_value >= DRIFT_P_VALUE:
        return None
    return Message(
        "{metric} changed with the order of the runs: about {change:+.1f} % from the first to the "
        "last.",
        {"metric": evidence.metric, "change": drift.change_percent},
    )


CHECKS: dict[WarningKind, Callable[[Evidence], Message | None]] = {
    WarningKind.UNREADABLE: _unreadable,
    WarningKind.UNFINISHED: _unfinished,
    WarningKind.UNPROVEN: _unproven,
    WarningKind.SEVERAL_MACHINES: run_warnings.several_machines,
    WarningKind.SAME_COMPUTER: run_warnings.same_computer,
    WarningKind.MIXED_VERSIONS: run_warnings.mixed_versions,
    WarningKind.MIXED_SETTINGS: run_warnings.mixed_settings,
    WarningKind.MIXED_DATA: run_warnings.mixed_data,
    WarningKind.UNEQUAL_DATA: run_warnings.unequal_data,
    WarningKind.DRIFT: _drift,
    WarningKind.SWAP_USED: run_warnings.swap_used,
    WarningKind.NOISY_MACHINE: run_warnings.noisy_machine,
    WarningKind.FEW_RUNS: _few_runs,
    WarningKind.WIDE_INTERVAL: _wide_interval,
    WarningKind.OUTLIERS: _outliers,
    WarningKind.CLOCK_RESOLUTION: coarse_clock,
    WarningKind.ODD_LOSS: run_warnings.odd_loss,
    WarningKind.GENERATED_DATA: run_warnings.generated_data,
    WarningKind.SAMPLER_COSTLY: run_warnings.sampler_costly,
    WarningKind.NO_SAMPLES: run_warnings.no_samples,
    WarningKind.FEW_SAMPLES: run_warnings.few_samples,
}


def _farthest_percent(values: list[float]) -> float:
    middle = median(values)
    if middle == 0:
        return 0.0
    return 100 * max(abs(value - middle) for value in values) / abs(middle)
