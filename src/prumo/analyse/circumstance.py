"""What weakens the figures of runs: their machine, versions, data, losses and sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from prumo.analyse.wording import counted, listed

if TYPE_CHECKING:
    from prumo.analyse.evidence import Evidence

# Ours: well below the run-to-run noise of a quiet machine.
SAMPLER_CPU_PERCENT = 1.0
# Ours: a mean over fewer samples says little about a run.
FEWEST_SAMPLES = 5
# Ours: a guest that waits for its host this often is slower by about as much.
STEAL_PERCENT = 1.0
OTHERS_CPU_PERCENT = 10.0


def several_machines(evidence: Evidence) -> str | None:
    """Runs of more than one machine where no factor says so."""
    known = evidence.finished_conditions.filter(pl.col("machine").is_not_null())
    # Machines may differ between the levels of a machine factor: that is what it is for.
    mixed = (
        known.group_by("machine_level")
        .agg(pl.col("machine").n_unique())
        .filter(pl.col("machine") > 1)
    )
    if mixed.is_empty():
        return None
    machines = sorted(known["machine"].unique())
    return f"Runs from {len(machines)} machines are mixed: {listed(machines)}."


def mixed_versions(evidence: Evidence) -> str | None:
    """Runs of one scenario with other versions of what they ran."""
    mixed = _scenarios_with_several(evidence, "versions")
    if not mixed:
        return None
    named = [f"{name} ({' / '.join(values)})" for name, values in mixed.items()]
    return (
        f"The runs of {counted(len(mixed), 'scenario')} were made with different versions: "
        f"{listed(named)}."
    )


def mixed_settings(evidence: Evidence) -> str | None:
    """Runs of one scenario on another device, with other threads or measured in another way."""
    differences: dict[str, list[str]] = {}
    for column in ("device", "threads", "settings"):
        for name in _scenarios_with_several(evidence, column):
            differences.setdefault(name, []).append(column)
    if not differences:
        return None
    named = [f"{name} ({', '.join(columns)})" for name, columns in differences.items()]
    return f"The runs of {counted(len(named), 'scenario')} were not made alike: {listed(named)}."


def mixed_data(evidence: Evidence) -> str | None:
    """Runs of one scenario that were trained on other files."""
    mixed = _scenarios_with_several(evidence, "data_content")
    if not mixed:
        return None
    return (
        f"The runs of {counted(len(mixed), 'scenario')} were trained on different data: "
        f"{listed(list(mixed))}."
    )


def noisy_machine(evidence: Evidence) -> str | None:
    """Time that a host or other programs took."""
    conditions = evidence.finished_conditions
    found = []
    stolen = conditions.filter(pl.col("steal_percent_mean") > STEAL_PERCENT)
    if stolen.height:
        worst = stolen.select(pl.col("steal_percent_mean").max()).item()
        found.append(
            f"the host took {worst:.1f} % of the processors at worst, more than "
            f"{STEAL_PERCENT:.0f} % in {counted(stolen.height, 'run')}"
        )
    others = pl.col("cpu_percent_mean") - pl.col("tree_cpu_percent_mean") / pl.col("cores")
    disturbed = conditions.filter(others > OTHERS_CPU_PERCENT)
    if disturbed.height:
        worst = disturbed.select(others.max()).item()
        found.append(
            f"other programs used {worst:.0f} % of the processors at worst, more than "
            f"{OTHERS_CPU_PERCENT:.0f} % in {counted(disturbed.height, 'run')}"
        )
    return f"The machine was not quiet: {'; '.join(found)}." if found else None


def generated_data(evidence: Evidence) -> str | None:
    """Runs that trained on no real images."""
    generated = evidence.finished_conditions.filter(pl.col("data_source") == "generated")
    if generated.is_empty():
        return None
    return f"Generated data, not real images, in {counted(generated.height, 'run')}."


def sampler_costly(evidence: Evidence) -> str | None:
    """Runs from which the sampler took a part."""
    share = 100 * pl.col("sampler_cpu_seconds") / pl.col("wall_seconds")
    costly = evidence.finished_conditions.filter(share > SAMPLER_CPU_PERCENT)
    if costly.is_empty():
        return None
    worst = costly.select(share.max()).item()
    return (
        f"The sampler used more than {SAMPLER_CPU_PERCENT:.0f} % of one core in "
        f"{counted(costly.height, 'run')}, {worst:.1f} % at worst."
    )


def no_samples(evidence: Evidence) -> str | None:
    """Runs whose sampler took nothing, or died and left no account of what it took."""
    # An imported run had no sampler that could fail.
    measured = evidence.finished_conditions.filter(~pl.col("imported"))
    unsampled = measured.filter(pl.col("samples").fill_null(0) == 0)
    if unsampled.is_empty():
        return None
    names = listed(unsampled["run"].to_list())
    return f"The sampler did not work to its end in {counted(unsampled.height, 'run')}: {names}."


def few_samples(evidence: Evidence) -> str | None:
    """Runs too short for the sampler's period."""
    few = evidence.finished_conditions.filter(pl.col("samples").is_between(1, FEWEST_SAMPLES - 1))
    if few.is_empty():
        return None
    return f"Fewer than {FEWEST_SAMPLES} samples were taken in {counted(few.height, 'run')}."


def odd_loss(evidence: Evidence) -> str | None:
    """Runs whose loss did not fall."""
    flat, rising = _runs_with(evidence, "flat_loss"), _runs_with(evidence, "rising_loss")
    found = []
    if flat:
        found.append(f"did not change in {counted(len(flat), 'run')} ({listed(flat)})")
    if rising:
        found.append(f"rose in {counted(len(rising), 'run')} ({listed(rising)})")
    return f"The loss {' and '.join(found)}." if found else None


def swap_used(evidence: Evidence) -> str | None:
    """Runs that were slowed by the disk."""
    swapping = _runs_with(evidence, "swap_used")
    if not swapping:
        return None
    return f"The machine swapped during {counted(len(swapping), 'run')}: {listed(swapping)}."


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
