"""What a reader must know before believing a table: every warning, with advice that fits."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import polars as pl

from prumo.analyse import circumstance
from prumo.analyse.drift import drift_over_order
from prumo.analyse.outlier import grubbs_p_value
from prumo.analyse.resolution import coarse_clock
from prumo.analyse.summary import summarise
from prumo.analyse.warning_kind import WarningKind
from prumo.message import Message, counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prumo.analyse.evidence import Evidence

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
    WarningKind.SEVERAL_MACHINES: circumstance.several_machines,
    WarningKind.SAME_COMPUTER: circumstance.same_computer,
    WarningKind.MIXED_VERSIONS: circumstance.mixed_versions,
    WarningKind.MIXED_SETTINGS: circumstance.mixed_settings,
    WarningKind.MIXED_DATA: circumstance.mixed_data,
    WarningKind.UNEQUAL_DATA: circumstance.unequal_data,
    WarningKind.DRIFT: _drift,
    WarningKind.SWAP_USED: circumstance.swap_used,
    WarningKind.NOISY_MACHINE: circumstance.noisy_machine,
    WarningKind.FEW_RUNS: _few_runs,
    WarningKind.WIDE_INTERVAL: _wide_interval,
    WarningKind.OUTLIERS: _outliers,
    WarningKind.CLOCK_RESOLUTION: coarse_clock,
    WarningKind.ODD_LOSS: circumstance.odd_loss,
    WarningKind.GENERATED_DATA: circumstance.generated_data,
    WarningKind.SAMPLER_COSTLY: circumstance.sampler_costly,
    WarningKind.NO_SAMPLES: circumstance.no_samples,
    WarningKind.FEW_SAMPLES: circumstance.few_samples,
}


def _farthest_percent(values: list[float]) -> float:
    middle = median(values)
    if middle == 0:
        return 0.0
    return 100 * max(abs(value - middle) for value in values) / abs(middle)
