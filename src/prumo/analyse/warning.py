"""What a reader must know before believing a table: every warning, with advice that fits."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from prumo.analyse import circumstance
from prumo.analyse.drift import drift_over_order
from prumo.analyse.interval import relative_half_width_percent
from prumo.analyse.outlier import grubbs_p_value
from prumo.analyse.warning_kind import WarningKind
from prumo.analyse.wording import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable

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
    message: str

    @property
    def name(self) -> str:
        """The warning's name for programs, such as `wide_interval`."""
        return self.kind.name.lower()

    @property
    def advice(self) -> str:
        """What to do about it."""
        return self.kind.value


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
    count = counted(len(evidence.unreadable), "run folder")
    return f"{count} could not be read and is not in any figure: {listed(evidence.unreadable)}."


def _unfinished(evidence: Evidence) -> str | None:
    if not evidence.unfinished:
        return None
    count = counted(len(evidence.unfinished), "run")
    return f"{count} began and did not end yet, or was stopped: {listed(evidence.unfinished)}."


def _unproven(evidence: Evidence) -> str | None:
    if not evidence.unproven:
        return None
    return f"Nothing proves that frameworks train the same network: {listed(evidence.unproven)}."


def _few_runs(evidence: Evidence) -> str | None:
    single = [name for name, values in evidence.values_by_scenario() if len(values) == 1]
    if not single:
        return None
    return (
        f"A single finished run in {counted(len(single), 'scenario')}, "
        f"so no interval can be given: {listed(single)}."
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
        f"{counted(len(wide), 'scenario')}: {listed(wide)}."
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
        f"One run stands far from its replications in {counted(len(found), 'scenario')}: "
        f"{listed(found)}."
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


CHECKS: dict[WarningKind, Callable[[Evidence], str | None]] = {
    WarningKind.UNREADABLE: _unreadable,
    WarningKind.UNFINISHED: _unfinished,
    WarningKind.UNPROVEN: _unproven,
    WarningKind.SEVERAL_MACHINES: circumstance.several_machines,
    WarningKind.MIXED_VERSIONS: circumstance.mixed_versions,
    WarningKind.MIXED_SETTINGS: circumstance.mixed_settings,
    WarningKind.MIXED_DATA: circumstance.mixed_data,
    WarningKind.DRIFT: _drift,
    WarningKind.SWAP_USED: circumstance.swap_used,
    WarningKind.NOISY_MACHINE: circumstance.noisy_machine,
    WarningKind.FEW_RUNS: _few_runs,
    WarningKind.WIDE_INTERVAL: _wide_interval,
    WarningKind.OUTLIERS: _outliers,
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
